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

/** In which company a row is rounded otherwise than alone: none, rows of its own slot, or any. */
export type Company = 'none' | 'slot' | 'any';

/**
 * In which company a stage would round a row otherwise. On a CPU in that of its slot, since the f16 kernels of attention take its rows
 * at once, and in any by the types of its weights or because a quantized cache takes flash attention. On a device nearly
 * all kernels do, and there alone would cost too much, so it counts as none.
 */
export async function roundsInCompany({
  path,
  gpuLayers,
  kvType,
}: Pick<NativeLoadOptions, 'path' | 'gpuLayers' | 'kvType'>): Promise<Company> {
  if (gpuLayers > 0) return 'none';
  if (kvType !== 'f16') return 'any';
  const reader = await openFileReader(path);
  try {
    return weightsRoundInCompany((await readHeader(reader)).tensors) ? 'any' : 'slot';
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
