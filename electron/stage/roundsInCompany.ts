import { openFileReader } from '../gguf/rangeReader.ts';
import { readHeader, type TensorInfo } from '../gguf/readHeader.ts';
import type { NativeLoadOptions } from './nativeAddon.ts';

/**
 * Weights for which ggml has kernels of several rows that add up in another order than those of one (llamafile/sgemm.cpp and repack.cpp
 * of ggml-cpu; e2e/stage/companyRounding.test.ts tries them).
 */
const roundedOtherwise: ReadonlySet<string> = new Set([
  ...['F32', 'F16', 'BF16', 'Q8_0', 'Q5_0'],
  ...['Q2_K', 'Q4_K', 'IQ4_NL', 'IQ4_XS'],
]);

/**
 * Whether a stage would round a row otherwise when it computes others with it: on a CPU, by the types of its weights or because
 * a quantized cache takes flash attention. On a device nearly all kernels do, and there alone would cost too much.
 */
export async function roundsInCompany({
  path,
  gpuLayers,
  kvType,
}: Pick<NativeLoadOptions, 'path' | 'gpuLayers' | 'kvType'>): Promise<boolean> {
  if (gpuLayers > 0) return false;
  if (kvType !== 'f16') return true;
  const reader = await openFileReader(path);
  try {
    return weightsRoundInCompany((await readHeader(reader)).tensors);
  } finally {
    await reader.close();
  }
}

/** Of the matrices that rows are multiplied with; an embedding is only looked up, unless it is the head too, and a single row fills the place of one. */
export function weightsRoundInCompany(tensors: ReadonlyMap<string, Pick<TensorInfo, 'type' | 'dimensions'>>): boolean {
  const isLookedUp = (name: string): boolean => name === 'token_embd.weight' && tensors.has('output.weight');
  return [...tensors].some(
    ([name, { type, dimensions }]) => (dimensions[1] ?? 1) > 1 && roundedOtherwise.has(type.name) && !isLookedUp(name),
  );
}
