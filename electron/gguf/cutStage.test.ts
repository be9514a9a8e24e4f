import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateModel, type RandomModel } from '../../e2e/models/generateModel.ts';
import type { LayerRange } from './architectures.ts';
import { cutStage } from './cutStage.ts';
import { F32 } from './ggmlType.ts';
import { modelShape } from './modelShape.ts';
import { type ModelSource, openModel } from './openModel.ts';
import type { TensorInfo } from './readHeader.ts';
import { temporaryFolder } from './testing/temporaryFolder.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

const small: RandomModel = {
  architecture: 'llama',
  layers: 5,
  width: 64,
  heads: 4,
  kvHeads: 2,
  feedForward: 96,
  vocabulary: 300,
  tied: true,
  seed: 1,
};

async function bytesOf(model: ModelSource, name: string): Promise<Buffer> {
  const tensor = model.tensors.get(name);
  if (tensor === undefined) throw new Error(`no tensor ${name}`);
  return bytesAt(model, tensor);
}

async function bytesAt(model: ModelSource, { file, offset, byteLength }: TensorInfo): Promise<Buffer> {
  const handle = await open(model.files[file]?.path ?? '', 'r');
  try {
    const bytes = Buffer.alloc(byteLength);
    await handle.read(bytes, 0, byteLength, offset);
    return bytes;
  } finally {
    await handle.close();
  }
}

let made = 0;
async function make(change: Partial<RandomModel>): Promise<ModelSource> {
  const [first = ''] = await generateModel(folder.at(`model${made++}.gguf`), { ...small, ...change });
  return openModel(first);
}

async function cut(model: ModelSource, range: LayerRange) {
  const stage = await cutStage(model, range, folder.at(`stage${made++}.gguf`));
  return { stage, source: await openModel(stage.path) };
}

const kinds: [string, Partial<RandomModel>][] = [
  ['llama, tied', {}],
  ['llama, untied, rope factors, per-layer arrays', { tied: false, ropeFactors: true, perLayerArrays: true }],
  ['llama in three shards, alignment 64', { shards: 3, alignment: 64, types: { feedForward: 'Q8_0' } }],
  ['qwen2, untied', { architecture: 'qwen2', tied: false, types: { embedding: 'F16', output: 'Q4_0' } }],
  ['qwen3, tied', { architecture: 'qwen3', headLength: 32, types: { embedding: 'Q8_0', attention: 'F16' } }],
];

describe.each(kinds)('stages of %s', (_, change) => {
  let model: ModelSource;
  beforeAll(async () => {
    model = await make(change);
  });

  it.each([
    [0, 2, 'first'],
    [2, 3, 'middle'],
    [3, 5, 'last'],
  ])('hold the tensors of layers %i to %i byte for byte', async (start, end, role) => {
    const { stage, source } = await cut(model, { start, end });
    expect(stage).toMatchObject({ role, layers: end - start });
    expect(source.layers).toBe(end - start);
    let layerTensors = 0;
    for (const name of model.tensors.keys()) {
      const [, layer, part] = /^blk\.(\d+)\.(.*)$/.exec(name) ?? [];
      if (layer === undefined || Number(layer) < start || Number(layer) >= end) continue;
      layerTensors++;
      expect((await bytesOf(source, `blk.${Number(layer) - start}.${part}`)).equals(await bytesOf(model, name))).toBe(
        true,
      );
    }
    const shared = model.tensors.has('rope_freqs.weight') ? 1 : 0;
    if (shared > 0)
      expect((await bytesOf(source, 'rope_freqs.weight')).equals(await bytesOf(model, 'rope_freqs.weight'))).toBe(true);
    expect(source.tensors.size).toBe(layerTensors + 2 + shared);

    if (role === 'last') {
      const head = model.tensors.has('output.weight') ? 'output.weight' : 'token_embd.weight';
      expect((await bytesOf(source, 'token_embd.weight')).equals(await bytesOf(model, head))).toBe(true);
      expect((await bytesOf(source, 'output_norm.weight')).equals(await bytesOf(model, 'output_norm.weight'))).toBe(
        true,
      );
    } else {
      expect(source.tensors.get('token_embd.weight')).toMatchObject({ dimensions: [64, 1], type: { id: F32 } });
      const ones = await bytesOf(source, 'output_norm.weight');
      expect(new Float32Array(Uint8Array.from(ones).buffer)).toEqual(new Float32Array(64).fill(1));
    }
  });

  it('keep the metadata, with layer counts, arrays and vocabulary of their own', async () => {
    const { source } = await cut(model, { start: 1, end: 4 });
    const key = (name: string) => `${model.architecture}.${name}`;
    expect(source.metadata.count(key('block_count'))).toBe(3);
    expect(source.metadata.count(key('vocab_size'))).toBe(1);
    expect(source.metadata.string('tokenizer.ggml.model')).toBe('none');
    expect(source.metadata.get('tokenizer.ggml.tokens')).toBeUndefined();
    expect(source.metadata.get('split.count')).toBeUndefined();
    expect(source.metadata.perLayer(key('attention.head_count_kv'), 3)).toEqual([2, 2, 2]);
    expect(source.alignment).toBe(model.alignment);
    for (const name of ['general.name', key('rope.freq_base'), key('attention.layer_norm_rms_epsilon')]) {
      const { offset: _a, ...before } = model.metadata.get(name) ?? { offset: 0 };
      const { offset: _b, ...after } = source.metadata.get(name) ?? { offset: 0 };
      expect(after).toEqual(before);
    }
  });

  it('describe the embedding table of the first, in a GGUF of its own', async () => {
    const { stage } = await cut(model, { start: 0, end: 1 });
    const tensor = model.tensors.get('token_embd.weight');
    expect(stage.embedding).toMatchObject({ rows: 300, columns: 64, type: tensor?.type.id, scale: 1 });
    const { path = '', offset = 0 } = stage.embedding ?? {};
    const handle = await open(path, 'r');
    const bytes = Buffer.alloc(tensor?.byteLength ?? 0);
    await handle.read(bytes, 0, bytes.byteLength, offset);
    await handle.close();
    expect(bytes.equals(await bytesOf(model, 'token_embd.weight'))).toBe(true);
  });

  it('have the bytes that the shape foretells', async () => {
    const shape = modelShape(model);
    const filler = 2 * 4 * shape.hiddenSize;
    for (const [start, end] of [[0, 2] as const, [2, 4] as const, [4, 5] as const]) {
      const { stage, source } = await cut(model, { start, end });
      const layers = shape.layers.slice(start, end).reduce((sum, layer) => sum + layer.weightBytes, 0);
      const edge = end === 5 ? shape.outputBytes : filler;
      expect(source.tensorBytes).toBe(layers + shape.sharedBytes + edge);
      const { rows = 0 } = stage.embedding ?? {};
      expect(start === 0 ? rows : shape.vocabularySize).toBe(shape.vocabularySize);
    }
    const whole = shape.layers.reduce((sum, layer) => sum + layer.weightBytes, 0);
    const { embeddingBytes, outputBytes, sharedBytes, tiedBytes = 0 } = shape;
    expect(model.tensorBytes).toBe(whole + embeddingBytes + outputBytes + sharedBytes - tiedBytes);
  });
});

describe('nothing is left', () => {
  let model: ModelSource;
  beforeAll(async () => {
    model = await make({});
  });
  const range = { start: 0, end: 4 };
  const empty = async (name: string) => {
    await folder.makeIn(name);
    return folder.at(name);
  };

  it('when the cut is aborted half way, or before it starts', async () => {
    const out = await empty('aborted');
    const controller = new AbortController();
    const options = { signal: controller.signal, onProgress: () => controller.abort(new Error('the user left')) };
    await expect(cutStage(model, range, join(out, 'stage.gguf'), options)).rejects.toThrow('the user left');
    await expect(cutStage(model, range, join(out, 'stage.gguf'), options)).rejects.toThrow('the user left');
    expect(await readdir(out)).toEqual([]);
  });

  it('when the stage cannot take its name, its embedding included', async () => {
    const out = await empty('taken');
    await folder.makeIn('taken/stage.gguf/inside');
    const error = await cutStage(model, range, join(out, 'stage.gguf')).catch((cause) => cause);
    expect(error).toMatchObject({ code: 'WriteFailed', path: join(out, 'stage.gguf') });
    expect(await readdir(out)).toEqual(['stage.gguf']);
  });

  it('when the folder is missing', async () => {
    const path = folder.at('nowhere/stage.gguf');
    const error = await cutStage(model, range, path).catch((cause) => cause);
    expect(error.message).toContain('could not be written: its folder does not exist.');
  });

  it('when a source file is gone', async () => {
    const gone = await make({ shards: 2 });
    const out = await empty('gone');
    await rm(gone.files[1]?.path ?? '');
    const error = await cutStage(gone, range, join(out, 'stage.gguf')).catch((cause) => cause);
    expect(error).toMatchObject({ code: 'NotGguf', path: gone.files[1]?.path });
    expect(await readdir(out)).toEqual([]);
  });
});

it('progress rises to the bytes of the stage', async () => {
  const model = await make({});
  const seen: number[] = [];
  const onProgress = (done: number, total: number) => seen.push(done / total);
  const { bytes, path, embedding } = await cutStage(model, { start: 0, end: 4 }, folder.at('told.gguf'), {
    onProgress,
  });
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(seen.at(-1)).toBe(1);
  expect(bytes).toBe((await stat(path)).size + (await stat(embedding?.path ?? '')).size);
});
