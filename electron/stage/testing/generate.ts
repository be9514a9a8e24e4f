import type { ActivationFormat, NativeSampling } from '../nativeAddon.ts';
import { greedy } from './demoModel.ts';
import type { StageChain } from './stageChain.ts';

export interface GenerateOptions {
  count: number;
  slot?: number;
  format?: ActivationFormat;
  sampling?: NativeSampling;
  /** Most prompt tokens per step. */
  chunk?: number;
  endTokens?: Int32Array;
}

/** Prefills `prompt` into an empty slot and decodes until an end token or `count` tokens; gives the tokens. */
export async function generate(chain: StageChain, prompt: Int32Array, options: GenerateOptions): Promise<number[]> {
  const { count, slot = 0, format = 'f32', sampling = greedy, chunk = 128, endTokens } = options;
  const tokens: number[] = [];
  let start = 0;
  let pending = prompt;
  while (tokens.length < count) {
    const piece = pending.subarray(0, chunk);
    pending = pending.subarray(piece.length);
    const isLast = pending.length === 0;
    const truncateTo = start === 0 ? 0 : null;
    const run = { slot, start, tokens: piece, truncateTo, sampling: isLast ? sampling : null };
    const { sampled } = await chain.step([run], format);
    start += piece.length;
    if (!isLast) continue;
    const [next] = sampled;
    if (next === undefined) throw new Error('no token was sampled');
    if (endTokens?.includes(next.token)) break;
    tokens.push(next.token);
    pending = Int32Array.of(next.token);
  }
  return tokens;
}
