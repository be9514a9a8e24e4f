import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateModel, type RandomModel } from '../../e2e/models/generateModel.ts';
import { type ArchitectureRules, architectureRules, type LayerRange, multiplesOf } from './architectures.ts';
import type { EncodableValue } from './encodeHeader.ts';
import { pieceBytes } from './filePlan.ts';
import { modelShape } from './modelShape.ts';
import { type ModelSource, openModel } from './openModel.ts';
import { planStageFile } from './planStageFile.ts';
import { splittability } from './splittability.ts';
import { ggufBytes, type TestTensor } from './testing/ggufBytes.ts';
import { temporaryFolder } from './testing/temporaryFolder.ts';
import { writeFilePlan } from './writeFilePlan.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

let made = 0;
/** A model of `layers` layers of 8 columns, of an architecture that may be made up. */
async function model(
  layers: number,
  more: { architecture?: string; entries?: Record<string, EncodableValue>; tensors?: TestTensor[] } = {},
): Promise<ModelSource> {
  const { architecture = 'llama', entries = {}, tensors = [] } = more;
  const path = folder.at(`model${made++}.gguf`);
  const bytes = ggufBytes({
    entries: [
      ['general.architecture', { type: 'string', value: architecture }],
      [`${architecture}.block_count`, { type: 'u32', value: layers }],
      [`${architecture}.embedding_length`, { type: 'u32', value: 8 }],
      ...Object.entries(entries).map(([key, value]) => [`${architecture}.${key}`, value] as const),
    ],
    tensors: [
      { name: 'token_embd.weight', dimensions: [8, 4], byteLength: 128 },
      { name: 'output_norm.weight' },
      ...Array.from({ length: layers }, (_, layer) => ({ name: `blk.${layer}.attn_norm.weight` })),
      ...tensors,
    ],
  });
  await writeFile(path, bytes);
  return openModel(path);
}

const llama = architectureRules('llama') as ArchitectureRules;

async function written(source: ModelSource, range: LayerRange, rules: ArchitectureRules): Promise<ModelSource> {
  const path = folder.at(`stage${made++}.gguf`);
  await writeFilePlan(planStageFile(source, range, rules).stage, source.files, path);
  return openModel(path);
}

describe('what may not be cut says why', () => {
  it.each<[string, Parameters<typeof model>, RegExp]>([
    ['another architecture', [4, { architecture: 'gemma3' }], /'gemma3' is not proven/],
    ['experts', [4, { entries: { expert_count: { type: 'u32', value: 8 } } }], /with experts is not proven/],
    [
      'a tensor of unknown use',
      [2, { tensors: [{ name: 'blk.1.attn_sinks.weight' }] }],
      /'blk\.1\.attn_sinks\.weight'/,
    ],
    ['a global tensor of unknown use', [2, { tensors: [{ name: 'cls.weight' }] }], /'cls\.weight'/],
    ['a layer too many', [2, { tensors: [{ name: 'blk.2.attn_norm.weight' }] }], /'blk\.2\.attn_norm\.weight'/],
    [
      'layers that differ',
      [2, { entries: { 'attention.head_count_kv': { type: 'array', element: 'i32', values: [2, 4] } } }],
      /differ in attention\.head_count_kv/,
    ],
    [
      'strings per layer',
      [2, { entries: { layer_types: { type: 'array', element: 'string', values: ['a', 'b'] } } }],
      /'llama\.layer_types' has a form/,
    ],
    ['embedding models', [2, { entries: { pooling_type: { type: 'u32', value: 3 } } }], /embedding model/],
    ['embedding models', [2, { entries: { 'attention.causal': { type: 'bool', value: false } } }], /embedding model/],
    [
      'a head of another width',
      [2, { tensors: [{ name: 'output.weight', dimensions: [4, 8], byteLength: 128 }] }],
      /4 x 8 where its width is 8/,
    ],
    ['a single layer', [1], /no place to be cut/],
  ])('%s', async (_, parts, reason) => {
    const source = await model(...parts);
    const { cutPoints, unsplittableReason } = splittability(source);
    expect(cutPoints).toEqual([]);
    expect(unsplittableReason).toMatch(reason);
    expect(() => planStageFile(source, { start: 0, end: 1 })).toThrow(reason);
    expect(modelShape(source)).toMatchObject({ cutPoints: [], unsplittableReason });
  });

  it('missing layers and a missing norm', async () => {
    const path = folder.at('gaps.gguf');
    const entries = [
      ['general.architecture', { type: 'string', value: 'llama' }],
      ['llama.block_count', { type: 'u32', value: 3 }],
    ] as const;
    const names = ['token_embd.weight', 'output_norm.weight', 'blk.0.attn_norm.weight', 'blk.2.attn_norm.weight'];
    await writeFile(path, ggufBytes({ entries: [...entries], tensors: names.map((name) => ({ name })) }));
    expect(splittability(await openModel(path)).unsplittableReason).toBe('it holds nothing of layer 1');
    const [, ...rest] = names;
    await writeFile(path, ggufBytes({ entries: [...entries], tensors: rest.map((name) => ({ name })) }));
    expect(splittability(await openModel(path)).unsplittableReason).toBe("it holds no 'token_embd.weight'");
  });

  it.each([
    [0, 4, /load the model itself/],
    [2, 2, /no range/],
    [-1, 2, /no range/],
    [0, 5, /no range/],
    [0.5, 2, /no range/],
    [Number.NaN, 2, /no range/],
  ])('layers %d to %d', async (start, end, reason) => {
    const source = await model(4);
    expect(() => planStageFile(source, { start, end })).toThrow(reason);
  });
});

describe('rules of other architectures', () => {
  it('only let stages begin at their cut points', async () => {
    const source = await model(7);
    const rules = { ...llama, cutPoints: ({ layers }: ModelSource) => multiplesOf(3, layers) };
    expect(splittability(source, rules).cutPoints).toEqual([3, 6]);
    expect(() => planStageFile(source, { start: 0, end: 2 }, rules)).toThrow('no stage may begin at layer 2');
    expect(() => planStageFile(source, { start: 4, end: 7 }, rules)).toThrow('no stage may begin at layer 4');
    expect(planStageFile(source, { start: 3, end: 7 }, rules).role).toBe('last');
  });

  it('scale the embedding, change metadata per stage', async () => {
    const source = await model(4, { entries: { 'rope.scale': { type: 'f32', value: 1 } } });
    const rules: ArchitectureRules = {
      ...llama,
      embeddingScale: () => Math.sqrt(8),
      metadata: (_, { start }) => new Map([['llama.rope.scale', { type: 'f32', value: start }]]),
    };
    expect(planStageFile(source, { start: 0, end: 2 }, rules).embedding?.scale).toBe(Math.sqrt(8));
    const last = await written(source, { start: 2, end: 4 }, rules);
    expect(last.metadata.number('llama.rope.scale')).toBe(2);
  });

  it('give every stage the output that llama.cpp demands', async () => {
    const source = await model(4, { tensors: [{ name: 'output.weight', dimensions: [8, 4], byteLength: 128 }] });
    const rules = { ...llama, demandsOutput: true };
    const first = await written(source, { start: 0, end: 2 }, rules);
    expect(first.tensors.get('output.weight')?.dimensions).toEqual([8, 1]);
    const last = await written(source, { start: 2, end: 4 }, rules);
    expect(last.tensors.get('output.weight')?.dimensions).toEqual([8, 4]);
    expect(last.tensors.get('token_embd.weight')?.dimensions).toEqual([8, 4]);
    const shape = modelShape(source, rules);
    expect(last.tensorBytes).toBe(2 * 32 + shape.outputBytes);
    expect(shape.tiedBytes).toBe(128);
  });
});

describe('metadata that counts layers', () => {
  it('is cut with them, and nothing else is', async () => {
    const count = (value: number): EncodableValue => ({ type: 'u32', value });
    const source = await model(4, {
      entries: {
        leading_dense_block_count: count(3),
        nextn_predict_layers: count(1),
        embedding_scale: { type: 'f32', value: 12 },
        'per_layer.flags': { type: 'array', element: 'bool', values: [true, false, false, true] },
        'per_layer.numbers': { type: 'array', element: 'f64', values: [0.5, 1.5, 2.5, 3.5] },
        'rope.dimension_sections': { type: 'array', element: 'i32', values: [1, 2, 3, 0] },
        'three.numbers': { type: 'array', element: 'u8', values: [7, 8, 9] },
      },
    });
    const stage = async (start: number, end: number) => {
      const { metadata } = await written(source, { start, end }, llama);
      return {
        dense: metadata.count('llama.leading_dense_block_count'),
        nextn: metadata.count('llama.nextn_predict_layers'),
        scale: metadata.number('llama.embedding_scale'),
        flags: metadata.perLayer('llama.per_layer.flags', end - start),
        sections: metadata.perLayer('llama.rope.dimension_sections', 4),
        three: metadata.perLayer('llama.three.numbers', 3),
      };
    };
    const same = { nextn: 0, sections: [1, 2, 3, 0], three: [7, 8, 9] };
    expect(await stage(0, 2)).toEqual({ ...same, dense: 2, scale: 12, flags: [1, 0] });
    expect(await stage(1, 4)).toEqual({ ...same, dense: 2, scale: 0, flags: [0, 0, 1] });
    expect(await stage(3, 4)).toEqual({ ...same, dense: 0, scale: 0, flags: [1] });
    const { metadata } = await written(source, { start: 1, end: 3 }, llama);
    expect(metadata.get('llama.per_layer.numbers')).toMatchObject({ element: 'f64', count: 2 });
  });
});

describe('a plan', () => {
  const random: RandomModel = {
    architecture: 'llama',
    layers: 3,
    width: 32,
    heads: 2,
    kvHeads: 1,
    feedForward: 64,
    vocabulary: 300,
    tied: true,
    seed: 1,
  };

  it('lays its pieces end to end, inside the files that it names', async () => {
    const [first = ''] = await generateModel(folder.at('planned.gguf'), { ...random, shards: 2 });
    const source = await openModel(first);
    for (const range of [
      { start: 0, end: 1 },
      { start: 1, end: 2 },
      { start: 2, end: 3 },
    ]) {
      const { stage, embedding } = planStageFile(source, range);
      for (const plan of embedding === null ? [stage] : [stage, embedding.file]) {
        let end = 0;
        for (const { offset, data } of plan.pieces) {
          expect(offset).toBeGreaterThanOrEqual(end);
          expect(offset - end).toBeLessThan(plan.alignment);
          end = offset + pieceBytes(data);
          if (data.from === 'source') {
            expect(data.offset + data.byteLength).toBeLessThanOrEqual(source.files[data.file]?.bytes ?? 0);
          }
        }
        expect(plan.totalBytes - end).toBeLessThan(plan.alignment);
        for (const offset of plan.tensorOffsets) expect(offset % plan.alignment).toBe(0);
      }
    }
  });

  it('is the same for the same header, and changes nothing of it', async () => {
    const [first = ''] = await generateModel(folder.at('pure.gguf'), random);
    const source = await openModel(first);
    const before = structuredClone({ ...source, metadata: [...source.metadata.entries()] });
    const plan = planStageFile(source, { start: 1, end: 3 });
    expect(planStageFile(await openModel(first), { start: 1, end: 3 })).toEqual(plan);
    expect({ ...source, metadata: [...source.metadata.entries()] }).toEqual(before);
  });
});
