import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EncodableValue } from './encodeHeader.ts';
import { modelShape } from './modelShape.ts';
import { openModel } from './openModel.ts';
import { ggufBytes, modelEntries } from './testing/ggufBytes.ts';
import { temporaryFolder } from './testing/temporaryFolder.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

let made = 0;
async function shapeOf(architecture: string, own: { pooling?: number; causal?: boolean }) {
  const count = (value: number): EncodableValue => ({ type: 'u32', value });
  const entries: [string, EncodableValue][] = [
    ['embedding_length', count(8)],
    ['attention.head_count', count(2)],
    ...(own.pooling === undefined ? [] : [['pooling_type', count(own.pooling)] satisfies [string, EncodableValue]]),
    ...(own.causal === undefined
      ? []
      : [['attention.causal', { type: 'bool', value: own.causal }] satisfies [string, EncodableValue]]),
  ];
  const path = folder.at(`${made++}.gguf`);
  const tensors = [{ name: 'token_embd.weight', dimensions: [8, 4], byteLength: 128 }, { name: 'blk.0.attn_k.weight' }];
  const named = entries.map(([key, value]) => [`${architecture}.${key}`, value] as const);
  await writeFile(path, ggufBytes({ entries: [...modelEntries(1, architecture), ...named], tensors }));
  return modelShape(await openModel(path));
}

it.each([
  ['a model that writes text', 'llama', {}, null],
  ['one that says so', 'llama', { pooling: 0, causal: true }, null],
  ['an encoder', 'bert', { pooling: 2, causal: false }, { pooling: 'cls', wholeTexts: true }],
  ['an encoder that names nothing', 'nomic-bert', {}, { pooling: 'mean', wholeTexts: true }],
  ['an encoder of another kind', 't5encoder', {}, { pooling: 'mean', wholeTexts: true }],
  ['a decoder that pools its last token', 'qwen3', { pooling: 3 }, { pooling: 'last', wholeTexts: false }],
  ['a decoder that takes the mean', 'llama', { pooling: 1 }, { pooling: 'mean', wholeTexts: false }],
  ['a decoder whose tokens look ahead', 'qwen2', { pooling: 1, causal: false }, { pooling: 'mean', wholeTexts: true }],
  ['a decoder that takes the first token', 'llama', { pooling: 2 }, { pooling: 'cls', wholeTexts: true }],
  ['a reranker', 'bert', { pooling: 4, causal: false }, { pooling: 'rank', wholeTexts: true }],
  ['a pooling of the future', 'bert', { pooling: 9, causal: false }, { pooling: 'unknown', wholeTexts: true }],
  ['a model that writes text otherwise', 'llada', { causal: false }, { pooling: 'unknown', wholeTexts: true }],
])('%s', async (_, architecture, own, expected) => {
  const { textEmbedding, unsplittableReason } = await shapeOf(architecture, own);
  expect(textEmbedding).toEqual(expected);
  if (expected !== null) expect(unsplittableReason).toMatch(/embedding model/);
});

it('an encoder keeps no KV cache and has no head', async () => {
  const bert = await shapeOf('bert', { pooling: 1 });
  expect([bert.layers[0]?.kvBytesPerToken, bert.outputBytes, bert.tiedBytes]).toEqual([0, 0, 0]);
  const decoder = await shapeOf('qwen2', { pooling: 1, causal: false });
  expect([decoder.layers[0]?.kvBytesPerToken, decoder.outputBytes]).toEqual([32, 128]);
});
