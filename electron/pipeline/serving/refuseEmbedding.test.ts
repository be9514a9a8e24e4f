import { expect, it } from 'vitest';
import type { TextEmbedding } from '../../planner/modelShape.ts';
import { refuseEmbedding } from './refuseEmbedding.ts';

const mean: TextEmbedding = { pooling: 'mean', wholeTexts: true };
const sizes = { contextLength: 1024, slots: 2 };

function refusal(textEmbedding: TextEmbedding | null, wish: Parameters<typeof refuseEmbedding>[1] = {}, at = sizes) {
  const model = { summary: { name: 'm' }, shape: { textEmbedding, contextLength: 512 } };
  try {
    refuseEmbedding(model, wish, at);
    return null;
  } catch (cause) {
    return cause instanceof Error ? cause.message : cause;
  }
}

it('lets pass what can be served', () => {
  expect(refusal(null, { force: 'cluster', draft: 'd' }, { contextLength: 9999, slots: 1 })).toBeNull();
  expect(refusal(mean, { force: 'single' })).toBeNull();
  expect(refusal({ pooling: 'last', wholeTexts: false }, {}, { contextLength: 9999, slots: 1 })).toBeNull();
});

it('says in one line what cannot', () => {
  expect(refusal({ ...mean, pooling: 'rank' })).toMatch(/^m is a reranker.*embedding model\.$/);
  expect(refusal({ ...mean, pooling: 'unknown' })).toMatch(/not served/);
  expect(refusal(mean, { force: 'cluster' })).toMatch(/one member/);
  expect(refusal(mean, { draft: 'd' })).toMatch(/nothing can draft/);
  expect(refusal(mean, {}, { contextLength: 1026, slots: 2 })).toMatch(/at most 512 tokens, not 513/);
});
