import { expect, it } from 'vitest';
import { folderOf, parseModelReference } from './modelReference.ts';

const hub = (repository: string, more: object = {}) => ({
  kind: 'hub',
  user: 'team',
  repository,
  quantisation: null,
  file: null,
  revision: 'main',
  ...more,
});

it.each([
  ['hf:team/model', hub('model')],
  [' hf:team/model-GGUF:Q4_K_M ', hub('model-GGUF', { quantisation: 'Q4_K_M' })],
  ['hf://team/model/Q8_0/some.gguf', hub('model', { file: 'Q8_0/some.gguf' })],
  ['huggingface:team/model/some.gguf#refs/pr/1', hub('model', { file: 'some.gguf', revision: 'refs/pr/1' })],
  ['https://huggingface.co/team/model', hub('model')],
  ['https://hf.co/team/model/blob/main/a%20b.gguf', hub('model', { file: 'a b.gguf' })],
  [
    'https://huggingface.co/team/model/resolve/v2/x.gguf?download=true',
    hub('model', { file: 'x.gguf', revision: 'v2' }),
  ],
  ['https://example.org/x.gguf', { kind: 'url', url: 'https://example.org/x.gguf' }],
])('%s', (text, reference) => {
  expect(parseModelReference(text)).toEqual(reference);
});

it.each([
  '',
  'model',
  'hf:team',
  'hf:../..',
  'hf:team/model:',
  'hf:team/model/../../x.gguf',
  'hf:team/model:Q4/x.gguf',
])("'%s' names nothing", (text) => {
  expect(() => parseModelReference(text)).toThrow(/names no model that can be downloaded/);
});

it('an address with a password is refused without repeating it', () => {
  expect(() => parseModelReference('https://me:secret@example.org/x.gguf')).toThrow(/^An address with a password/);
});

it('folders are named after where a model comes from, and stay in their place', () => {
  expect(folderOf(parseModelReference('hf:team/model:Q4_0'))).toBe('team--model');
  expect(folderOf(parseModelReference('https://[::1]:80/x.gguf'))).toBe('___1_');
});
