import { createCipheriv, createHash } from 'node:crypto';
import type { GgmlType } from '../../electron/gguf/ggmlType.ts';

/** The types that random tensors come in, with their ggml ids. */
export const randomTensorTypes = {
  ...{ F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q5_0: 6, Q5_1: 7, Q8_0: 8, Q2_K: 10, Q3_K: 11, Q4_K: 12, Q5_K: 13, Q6_K: 14 },
  ...{ IQ4_NL: 20, IQ4_XS: 23, BF16: 30 },
} as const;

export type RandomTensorType = keyof typeof randomTensorTypes;

export interface RandomTensor {
  type: GgmlType;
  bytes: number;
  /** Of the values, about. */
  mean: number;
  deviation: number;
}

/** Bytes of random tensors in chunks, fast (a cipher makes the noise) and equal for equal seeds. */
export function* randomTensor(seed: string, tensor: RandomTensor): Generator<Uint8Array> {
  const key = createHash('sha256').update(seed).digest();
  const cipher = createCipheriv('aes-128-ctr', key.subarray(0, 16), key.subarray(16, 32));
  const noise = (bytes: number) => cipher.update(Buffer.alloc(bytes));
  const { blockBytes } = tensor.type;
  const chunkBytes = Math.floor((4 << 20) / blockBytes) * blockBytes;
  for (let done = 0; done < tensor.bytes; done += chunkBytes) {
    yield randomChunk(tensor, Math.min(chunkBytes, tensor.bytes - done), noise);
  }
}

function randomChunk(tensor: RandomTensor, bytes: number, noise: (bytes: number) => Buffer): Uint8Array {
  const { mean, deviation } = tensor;
  switch (tensor.type.id) {
    case randomTensorTypes.F32: {
      const values = bellCurve.map((value) => mean + deviation * value);
      return new Uint8Array(Float32Array.from(noise(bytes / 4), (byte) => values[byte] ?? 0).buffer);
    }
    case randomTensorTypes.F16: {
      const values = bellCurve.map((value) => toHalf(mean + deviation * value));
      return new Uint8Array(Uint16Array.from(noise(bytes / 2), (byte) => values[byte] ?? 0).buffer);
    }
    case randomTensorTypes.BF16: {
      const values = bellCurve.map((value) => upperHalf(mean + deviation * value));
      return new Uint8Array(Uint16Array.from(noise(bytes / 2), (byte) => values[byte] ?? 0).buffer);
    }
    default: {
      const scales = blockScales[tensor.type.name];
      if (scales === undefined) throw new RangeError(`no random tensors of type ${tensor.type.name}`);
      return withScales(noise(bytes), tensor.type.blockBytes, deviation, scales);
    }
  }
}

/**
 * Where the f16 scales of a block lie (block_q4_0 and the like in ggml-common.h), and of what size they make random steps deviate by 1.
 * Sixteen, or 256, equally likely steps around zero deviate by that many steps; those of K quants have random scales of their own.
 */
const blockScales: Partial<Record<string, readonly (readonly [offset: number, scale: number])[]>> = {
  Q4_0: [[0, 1 / 4.61]],
  Q4_1: [
    [0, 1 / 4.61],
    [2, -1.7],
  ],
  Q5_0: [[0, 1 / 9.2]],
  Q5_1: [
    [0, 1 / 9.2],
    [2, -1.7],
  ],
  Q8_0: [[0, 1 / 73.9]],
  Q2_K: [
    [80, 1 / 8.5],
    [82, 1 / 5.5],
  ],
  Q3_K: [[108, 1 / 40]],
  Q4_K: [
    [0, 1 / 150],
    [2, 1 / 20],
  ],
  Q5_K: [
    [0, 1 / 300],
    [2, 1 / 20],
  ],
  Q6_K: [[208, 1 / 1300]],
  IQ4_NL: [[0, 1 / 70]],
  IQ4_XS: [[0, 1 / 1300]],
};

/** Sets each block's f16 scales; six bits of them stay random, so scales differ by up to a sixteenth. */
function withScales(
  blocks: Buffer,
  blockBytes: number,
  deviation: number,
  scales: readonly (readonly [offset: number, scale: number])[],
): Buffer {
  for (const [offset, scale] of scales) {
    const bits = toHalf(deviation * scale * 0.97);
    const upper = bits >> 8;
    const lower = bits & 0xc0;
    for (let at = offset; at < blocks.byteLength; at += blockBytes) {
      blocks[at] = lower | ((blocks[at] ?? 0) & 0x3f);
      blocks[at + 1] = upper;
    }
  }
  return blocks;
}

/** The bits of the bf16 below a number: the upper half of its f32. */
function upperHalf(value: number): number {
  return new DataView(Float32Array.of(value).buffer).getUint16(2, true);
}

/** 256 equally likely values of mean 0 and deviation 1, of nearly normal distribution. */
const bellCurve: readonly number[] = Array.from({ length: 256 }, (_, index) => {
  const share = (index + 0.5) / 256;
  // The logistic distribution's quantile, scaled to deviation 1.
  return (Math.log(share / (1 - share)) * Math.sqrt(3)) / Math.PI;
});

/** The bits of the nearest f16 of a number that f16 can hold. */
function toHalf(value: number): number {
  const sign = value < 0 ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  const exponent = Math.floor(Math.log2(size));
  return sign | (((exponent + 15) << 10) + Math.round((size / 2 ** exponent - 1) * 1024));
}
