import type { Committed, Run, TokenLogprobs } from '../wire/generated/roomful/v1/ring.ts';
import type { NativeSampledToken, NativeStepResult } from './nativeAddon.ts';

/** What a step has committed, run by run; nothing of runs that were not sampled or were left out. */
export function committedOf(runs: readonly Run[], { sampled, failures, hidden }: NativeStepResult): Committed[] {
  const committed: Committed[] = [];
  for (const { slot, generation, start, tokens } of runs) {
    const own = sampled.filter((token) => token.slot === slot);
    const failure = failures.find((one) => one.slot === slot)?.message;
    const values = hidden.find((one) => one.slot === slot)?.values;
    if (own.length === 0 && failure === undefined && values === undefined) continue;
    committed.push({
      slot,
      generation,
      position: own[0]?.position ?? start + tokens.length,
      tokens: own.map(({ token }) => token),
      logprobs: own.flatMap((token) => logprobsOf(token) ?? []),
      failure,
      hidden: [...(values ?? [])],
    });
  }
  return committed;
}

function logprobsOf({ logprob, top }: NativeSampledToken): TokenLogprobs | null {
  if (logprob === null) return null;
  return { logprob, topTokens: top.map(({ token }) => token), topLogprobs: top.map((entry) => entry.logprob) };
}
