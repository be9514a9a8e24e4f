/** What decides how far to guess ahead; milliseconds. */
export interface DraftSituation {
  /** Probability that a draft is accepted when those before it were. */
  acceptance: number;
  /** From sending a step of so many rows to its return where nothing else is under way. */
  ringMs: (rows: number) => number;
  /** Of the slowest stage, for a step of so many rows. */
  slowestMs: (rows: number) => number;
  /** Of a traversal on the way between processes. */
  waysMs: number;
  /** Sequences that share the stages and what drafts. */
  active: number;
  /** To draft one token. */
  draftMs: number;
  /** Most drafts in one step. */
  most: number;
  /** Most steps of one sequence under way at once. */
  deepest: number;
}

export interface DraftPlan {
  /** Drafts in one step; 0 where drafting does not pay. */
  drafts: number;
  /** Steps of the sequence that may be under way at once: 1 waits for each verification. */
  depth: number;
}

/** No step is quicker, whatever was measured. */
const MIN_STEP_MS = 0.01;
/** However often drafts were accepted, sooner or later one is not. */
const MOST_ACCEPTANCE = 0.99;
/** What is sent ahead of a rejected draft is work for nothing on every stage, so it must bring this much. */
const WORTH_AHEAD = 1.1;

/**
 * With how many drafts in a step, and how many steps under way, tokens come quickest. One step at a time commits
 * 1 + p + ... + p^k tokens (Leviathan et al. 2023, "Fast inference from transformers via speculative decoding", eq. 1) in the
 * time of k drafts and a step of k + 1 rows. With more under way a round lasts until the first rejection is known: its first
 * step, and an interval for each further one that it takes to come there; it commits 1 / (1 - p) tokens.
 */
export function draftPlan({ ringMs, slowestMs, ...rest }: DraftSituation): DraftPlan {
  const { active, most, deepest } = rest;
  const situation = { ...rest, ringMs: remembered(ringMs), slowestMs: remembered(slowestMs) };
  const plainMs = Math.max(MIN_STEP_MS, ringMs(1), active * slowestMs(1));
  let best: DraftPlan = { drafts: 0, depth: 1 };
  let bestRate = 1 / plainMs;
  for (let drafts = 1; drafts <= most; drafts += 1) {
    const rate = waitingRate(situation, drafts);
    if (rate > bestRate) [best, bestRate] = [{ drafts, depth: 1 }, rate];
  }
  bestRate *= WORTH_AHEAD;
  for (let drafts = 1; drafts <= most; drafts += 1) {
    for (let depth = 2; depth <= deepest; depth += 1) {
      const rate = aheadRate(situation, drafts, depth);
      if (rate > bestRate) [best, bestRate] = [{ drafts, depth }, rate];
    }
  }
  return best;
}

function remembered(of: (rows: number) => number): (rows: number) => number {
  const known: number[] = [];
  return (rows) => {
    known[rows] ??= of(rows);
    return known[rows];
  };
}

function waitingRate({ acceptance, ringMs, slowestMs, active, draftMs }: DraftSituation, drafts: number): number {
  let expected = 1;
  for (let draft = 1, power = 1; draft <= drafts; draft += 1) {
    power *= acceptance;
    expected += power;
  }
  const stepMs = Math.max(ringMs(drafts + 1), active * slowestMs(drafts + 1));
  return expected / Math.max(MIN_STEP_MS, stepMs + drafts * draftMs);
}

/** Each further step is `drafts` tokens, of which the first is judged by the step before it. */
function aheadRate(situation: DraftSituation, drafts: number, depth: number): number {
  const { ringMs, waysMs, active, draftMs } = situation;
  const acceptance = Math.min(MOST_ACCEPTANCE, situation.acceptance);
  const firstMs = Math.max(MIN_STEP_MS, ringMs(drafts + 1));
  // What is not on the way keeps processors busy, and they may be those of one machine: steps follow each other no quicker.
  const workMs = Math.max(MIN_STEP_MS, ringMs(drafts) - waysMs + drafts * draftMs);
  const intervalMs = Math.max(workMs, firstMs / depth);
  /** Further steps until the one that holds the first rejected draft. */
  const further = acceptance ** (drafts + 1) / (1 - acceptance ** drafts);
  const wasted = Math.min(depth - 1, firstMs / workMs);
  // What is under way for nothing when the next round begins has half of its turn left, in the middle.
  const roundMs = drafts * draftMs + firstMs + further * intervalMs + workMs / 2;
  const busyMs = active * (1 + further + wasted) * workMs;
  return 1 / (1 - acceptance) / Math.max(roundMs, busyMs);
}
