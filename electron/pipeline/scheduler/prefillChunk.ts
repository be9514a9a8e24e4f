/** Chunks that a long prompt is cut into for each stage beyond the first: so many keep all of them busy most of the time. */
const CHUNKS_PER_STAGE = 8;
/** Fewer tokens would read the weights too often for what they bring. */
const LEAST_TOKENS = 128;

/**
 * Tokens of one prefill chunk. n chunks pass s stages in the time of n + s - 1 of them, so one stage takes chunks as large as
 * a step may be, and several pass a prompt on in smaller ones while the first goes on with the rest.
 */
export function prefillChunk(promptLength: number, stages: number, most: number): number {
  if (stages === 1) return most;
  const wanted = Math.ceil(promptLength / (CHUNKS_PER_STAGE * (stages - 1)));
  return Math.min(most, Math.max(LEAST_TOKENS, wanted));
}
