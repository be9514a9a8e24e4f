/** What decides how many tokens are worth drafting; milliseconds. */
export interface DraftSituation {
  /** Probability that a draft is accepted when those before it were. */
  acceptance: number;
  /** From sending a step of so many rows to its return. */
  stepMs: (rows: number) => number;
  /** To draft one token. */
  draftMs: number;
  /** Most drafts in one step. */
  most: number;
}

/**
 * How many drafts make tokens come quickest: a step with k drafts is expected to commit 1 + p + ... + p^k tokens (Leviathan et
 * al. 2023, "Fast inference from transformers via speculative decoding", eq. 1) and takes k drafts and a step of k + 1 rows.
 * 0 where drafting does not pay.
 */
export function draftLength({ acceptance, stepMs, draftMs, most }: DraftSituation): number {
  let best = 0;
  let bestRate = 1 / Math.max(MIN_STEP_MS, stepMs(1));
  let expected = 1;
  let power = 1;
  for (let drafts = 1; drafts <= most; drafts += 1) {
    power *= acceptance;
    expected += power;
    const rate = expected / Math.max(MIN_STEP_MS, stepMs(drafts + 1) + drafts * draftMs);
    if (rate > bestRate) [best, bestRate] = [drafts, rate];
  }
  return best;
}

/** No step is quicker, whatever was measured. */
const MIN_STEP_MS = 0.01;
