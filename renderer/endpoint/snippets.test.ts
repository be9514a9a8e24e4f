import { expect, test } from 'vitest';
import { snippets } from './snippets.ts';

test('every snippet names the model, and the place of the member', () => {
  for (const { id, text } of snippets('http://127.0.0.1:4141/v1', 'my "model"')) {
    expect(text, id).toContain('my \\"model\\"');
    expect(text, id).toContain('127.0.0.1:4141');
  }
});

test('settings in JSON are JSON', () => {
  const zed = snippets('http://127.0.0.1:4141/v1', 'm').find(({ id }) => id === 'zed');
  expect(JSON.parse(zed?.text ?? '')).toMatchObject({
    language_models: { openai_compatible: { Roomful: { api_url: 'http://127.0.0.1:4141/v1' } } },
  });
});
