import { open } from 'node:fs/promises';
import { type ModelSource, openModel } from '../../electron/gguf/openModel.ts';

type Row = Float64Array;

/**
 * What a bert of F32 weights makes of a text, [n_embd] of no particular length: the plain forward pass of the paper, in
 * double precision, with nothing of llama.cpp in it. `mean` is over all tokens, `cls` the first one.
 */
export async function bertVector(path: string, tokens: readonly number[], pooling: 'mean' | 'cls'): Promise<number[]> {
  const model = await openModel(path);
  const weights = await readTensors(model);
  const heads = model.metadata.count('bert.attention.head_count') ?? 1;
  const epsilon = model.metadata.number('bert.attention.layer_norm_epsilon') ?? 0;
  const tensor = (name: string): Float32Array => {
    const found = weights.get(name);
    if (found === undefined) throw new RangeError(`${path} holds no ${name}`);
    return found;
  };
  const norm = (rows: readonly Row[], name: string): Row[] =>
    rows.map((row) => normalised(row, tensor(`${name}.weight`), tensor(`${name}.bias`), epsilon));
  const linear = (rows: readonly Row[], name: string): Row[] =>
    rows.map((row) => applied(row, tensor(`${name}.weight`), tensor(`${name}.bias`)));
  const width = model.metadata.count('bert.embedding_length') ?? 0;
  const rowOf = (name: string, index: number): Float32Array =>
    tensor(name).subarray(index * width, (index + 1) * width);
  let rows: Row[] = norm(
    tokens.map((token, position) => {
      const parts = [
        rowOf('token_embd.weight', token),
        rowOf('position_embd.weight', position),
        rowOf('token_types.weight', 0),
      ];
      return Float64Array.from({ length: width }, (_, column) =>
        parts.reduce((sum, part) => sum + (part[column] ?? 0), 0),
      );
    }),
    'token_embd_norm',
  );
  for (let layer = 0; layer < model.layers; layer += 1) {
    const name = (part: string) => `blk.${layer}.${part}`;
    const [q, k, v] = ['attn_q', 'attn_k', 'attn_v'].map((part) => linear(rows, name(part)));
    const attended = linear(attention(q ?? [], k ?? [], v ?? [], heads), name('attn_output'));
    rows = norm(added(attended, rows), name('attn_output_norm'));
    const widened = linear(rows, name('ffn_up')).map((row) => row.map(gelu));
    rows = norm(added(linear(widened, name('ffn_down')), rows), name('layer_output_norm'));
  }
  const taken = pooling === 'cls' ? rows.slice(0, 1) : rows;
  return Array.from(
    { length: width },
    (_, column) => taken.reduce((sum, row) => sum + (row[column] ?? 0), 0) / taken.length,
  );
}

async function readTensors({ files, tensors }: ModelSource): Promise<Map<string, Float32Array>> {
  const file = await open(files[0]?.path ?? '');
  try {
    const read = new Map<string, Float32Array>();
    for (const { name, offset, byteLength } of tensors.values()) {
      const values = new Float32Array(byteLength / 4);
      await file.read(new Uint8Array(values.buffer), 0, byteLength, offset);
      read.set(name, values);
    }
    return read;
  } finally {
    await file.close();
  }
}

function normalised(row: Row, weight: Float32Array, bias: Float32Array, epsilon: number): Row {
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
  const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
  return row.map(
    (value, column) => ((value - mean) / Math.sqrt(variance + epsilon)) * (weight[column] ?? 0) + (bias[column] ?? 0),
  );
}

function applied(row: Row, weight: Float32Array, bias: Float32Array): Row {
  return Float64Array.from(bias, (start, output) =>
    row.reduce((sum, value, column) => sum + value * (weight[output * row.length + column] ?? 0), start),
  );
}

function added(rows: readonly Row[], others: readonly Row[]): Row[] {
  return rows.map((row, index) => row.map((value, column) => value + (others[index]?.[column] ?? 0)));
}

/** Every token attends to every other one, before and after it. */
function attention(q: readonly Row[], k: readonly Row[], v: readonly Row[], heads: number): Row[] {
  const width = q[0]?.length ?? 0;
  const head = width / heads;
  return q.map((query) => {
    const out = new Float64Array(width);
    for (let start = 0; start < width; start += head) {
      const scores = k.map((key) => {
        let sum = 0;
        for (let column = start; column < start + head; column += 1) sum += (query[column] ?? 0) * (key[column] ?? 0);
        return sum / Math.sqrt(head);
      });
      const most = Math.max(...scores);
      const powers = scores.map((score) => Math.exp(score - most));
      const total = powers.reduce((sum, power) => sum + power, 0);
      for (const [index, power] of powers.entries()) {
        for (let column = start; column < start + head; column += 1) {
          out[column] = (out[column] ?? 0) + (power / total) * (v[index]?.[column] ?? 0);
        }
      }
    }
    return out;
  });
}

/** The approximation by a hyperbolic tangent, which llama.cpp takes. */
function gelu(value: number): number {
  return 0.5 * value * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (value + 0.044715 * value ** 3)));
}
