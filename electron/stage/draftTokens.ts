import type { NativeSampling, NativeStage } from './nativeAddon.ts';

export interface DraftRequest {
  slot: number;
  /** Position of the first token; what the slot holds from there on is forgotten. */
  start: number;
  /** Tokens that the sequence has gained, at least one. */
  tokens: Int32Array;
  /** Most tokens to draft; 0 only reads what the sequence has gained. */
  count: number;
  /** Most tokens in one step. */
  batch: number;
  sampling: NativeSampling;
}

/**
 * What a draft model says next. Sampled as the target is, with the same random numbers, so that the two agree as often as
 * their probabilities do. Fewer than `count` where no token can be sampled.
 */
export async function draftTokens(stage: NativeStage, request: DraftRequest): Promise<Int32Array> {
  const { slot, count, batch, sampling } = request;
  let { start, tokens } = request;
  const drafted: number[] = [];
  const step = async (some: Int32Array, samples: boolean): Promise<number | undefined> => {
    const run = { slot, start, tokens: some, truncateTo: start, sampling: samples ? sampling : null };
    const { sampled } = await stage.decode({ runs: [run], input: null, output: null, outputFormat: 'f32' });
    start += some.length;
    return sampled[0]?.token;
  };
  const unread = count === 0 ? 0 : batch;
  for (; tokens.length > unread; tokens = tokens.subarray(batch)) await step(tokens.subarray(0, batch), false);
  while (drafted.length < count) {
    const token = await step(tokens, true);
    if (token === undefined) break;
    drafted.push(token);
    tokens = Int32Array.of(token);
  }
  return Int32Array.from(drafted);
}
