import { getLlama, LlamaLogLevel, type Token } from 'node-llama-cpp';

/** What a model makes of texts as node-llama-cpp has it, computed whole, each of length 1. `contextLength` holds any of them. */
export async function judgedVectors(
  path: string,
  texts: readonly (readonly number[])[],
  { contextLength, mean }: { contextLength: number; mean: boolean },
): Promise<number[][]> {
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error });
  try {
    const whole = await llama.loadModel({ modelPath: path, gpuLayers: 0, defaultContextFlashAttention: false });
    const context = await whole.createEmbeddingContext({
      contextSize: contextLength,
      batchSize: contextLength,
      threads: 1,
    });
    const vectors: number[][] = [];
    for (const text of texts) {
      // Without a pooling it gives the last token's; every beginning of a text gives that of one of its tokens.
      const beginnings = mean ? text.map((_, index) => text.slice(0, index + 1)) : [text];
      const sum: number[] = [];
      for (const beginning of beginnings) {
        const { vector } = await context.getEmbeddingFor(beginning as Token[]);
        for (const [index, value] of vector.entries()) sum[index] = (sum[index] ?? 0) + value;
      }
      const norm = Math.hypot(...sum);
      vectors.push(sum.map((value) => value / norm));
    }
    return vectors;
  } finally {
    await llama.dispose();
  }
}

/** The largest difference of two vectors of length 1, against the size of a value of theirs; infinite where they differ in size. */
export function vectorDifference(one: readonly number[], other: readonly number[]): number {
  if (one.length !== other.length) return Number.POSITIVE_INFINITY;
  return Math.max(...one.map((value, index) => Math.abs(value - (other[index] ?? 0)))) * Math.sqrt(other.length);
}
