/** A tensor type of ggml: elements are stored in blocks of fixed size. */
export interface GgmlType {
  id: number;
  name: string;
  blockElements: number;
  blockBytes: number;
}

/** Ids the tests and the cutter speak of by name. */
export const F32 = 0;
export const F16 = 1;
export const Q4_0 = 2;
export const Q8_0 = 8;

/** `enum ggml_type` of ggml.h with the block sizes of ggml-common.h, at the release that node-llama-cpp pins. */
const types: readonly (readonly [id: number, name: string, blockElements: number, blockBytes: number])[] = [
  [F32, 'F32', 1, 4],
  [F16, 'F16', 1, 2],
  [Q4_0, 'Q4_0', 32, 18],
  [3, 'Q4_1', 32, 20],
  [6, 'Q5_0', 32, 22],
  [7, 'Q5_1', 32, 24],
  [Q8_0, 'Q8_0', 32, 34],
  [9, 'Q8_1', 32, 36],
  [10, 'Q2_K', 256, 84],
  [11, 'Q3_K', 256, 110],
  [12, 'Q4_K', 256, 144],
  [13, 'Q5_K', 256, 176],
  [14, 'Q6_K', 256, 210],
  [15, 'Q8_K', 256, 292],
  [16, 'IQ2_XXS', 256, 66],
  [17, 'IQ2_XS', 256, 74],
  [18, 'IQ3_XXS', 256, 98],
  [19, 'IQ1_S', 256, 50],
  [20, 'IQ4_NL', 32, 18],
  [21, 'IQ3_S', 256, 110],
  [22, 'IQ2_S', 256, 82],
  [23, 'IQ4_XS', 256, 136],
  [24, 'I8', 1, 1],
  [25, 'I16', 1, 2],
  [26, 'I32', 1, 4],
  [27, 'I64', 1, 8],
  [28, 'F64', 1, 8],
  [29, 'IQ1_M', 256, 56],
  [30, 'BF16', 1, 2],
  [34, 'TQ1_0', 256, 54],
  [35, 'TQ2_0', 256, 66],
  [39, 'MXFP4', 32, 17],
  [40, 'NVFP4', 64, 36],
  [41, 'Q1_0', 128, 18],
  [42, 'Q2_0', 64, 18],
];

const byId = new Map<number, GgmlType>(
  types.map(([id, name, blockElements, blockBytes]) => [id, { id, name, blockElements, blockBytes }]),
);

/** The type with this id; undefined for one that this release of ggml does not know or no longer reads. */
export function ggmlType(id: number): GgmlType | undefined {
  return byId.get(id);
}

/** Bytes of a tensor; null where a row is no whole number of blocks or the size is no safe integer. */
export function tensorBytes(type: GgmlType, dimensions: readonly number[]): number | null {
  if ((dimensions[0] ?? 1) % type.blockElements !== 0) return null;
  let elements = 1;
  for (const length of dimensions) {
    elements *= length;
    if (!Number.isSafeInteger(elements)) return null;
  }
  const bytes = (elements / type.blockElements) * type.blockBytes;
  return Number.isSafeInteger(bytes) ? bytes : null;
}
