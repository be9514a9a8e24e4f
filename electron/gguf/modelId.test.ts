import { expect, it } from 'vitest';
import { modelId, withoutQuantisation } from './modelId.ts';

it.each([
  ['Qwen3 8B', 'Q4_K_M', 'qwen3-8b-q4_k_m', 'qwen3-8b'],
  ['Llama-3.2-1B-Instruct-Q8_0', 'Q8_0', 'llama-3.2-1b-instruct-q8_0', 'llama-3.2-1b-instruct'],
  ['gpt oss', 'MXFP4_MOE', 'gpt-oss-mxfp4_moe', 'gpt-oss'],
  ['Roomful demo', 'F16', 'roomful-demo-f16', 'roomful-demo'],
  ['../../etc/Pässwörd 🚀', 'BF16', 'etc-pässwörd-bf16', 'etc-pässwörd'],
  ['…', 'IQ4_XS', 'model-iq4_xs', 'model'],
  ['tiny', 'TQ1_0', 'tiny-tq1_0', 'tiny'],
  ['Q4_0', 'Q4_0', 'q4_0-q4_0', 'q4_0'],
])('%s in %s is %s, or %s', (name, quantisation, id, short) => {
  expect(modelId({ name, quantisation })).toBe(id);
  expect(withoutQuantisation(id)).toBe(short);
});

it('leaves a name alone that ends with something else', () => {
  expect(withoutQuantisation('qwen3-8b')).toBe('qwen3-8b');
  expect(withoutQuantisation('my-f-model')).toBe('my-f-model');
});
