import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Acceptance } from './acceptance.ts';
import { type DraftPlan, type DraftSituation, draftPlan } from './draftPlan.ts';
import { lookupDraft } from './lookupDraft.ts';

const alone = { active: 1, most: 8, deepest: 1 };
/** Two stages alike: the slower one takes half of what both compute. */
const ringOf = (fixedMs: number, rowMs: number, wayMs: number) => ({
  ringMs: (rows: number): number => wayMs + fixedMs + rowMs * rows,
  slowestMs: (rows: number): number => (fixedMs + rowMs * rows) / 2,
  waysMs: wayMs,
});

test('a long way round pays for many drafts, a step that grows with its rows for none', () => {
  const [far, near] = [ringOf(0, 1, 40), ringOf(0, 10, 0)];
  expect(draftPlan({ ...alone, ...far, acceptance: 0.9, draftMs: 0.5 }).drafts).toBe(8);
  expect(draftPlan({ ...alone, ...near, acceptance: 0.9, draftMs: 0 }).drafts).toBe(0);
  expect(draftPlan({ ...alone, ...far, acceptance: 0.05, draftMs: 3 }).drafts).toBe(0);
  expect(draftPlan({ ...alone, ...far, acceptance: 1, draftMs: 0.5, most: 3 }).drafts).toBe(3);
});

test('no other length is expected to be quicker', () => {
  const positive = fc.double({ min: 0.01, max: 50, noNaN: true });
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), positive, positive, positive, (p, fixed, row, draftMs) => {
      const ring = ringOf(fixed, row, 0);
      const rate = (k: number): number => {
        const expected = Array.from({ length: k + 1 }, (_, i) => p ** i).reduce((sum, value) => sum + value, 0);
        return expected / (ring.ringMs(k + 1) + k * draftMs);
      };
      const { drafts: chosen, depth } = draftPlan({ ...alone, ...ring, acceptance: p, draftMs });
      for (let k = 0; k <= 8; k += 1) expect(rate(chosen)).toBeGreaterThanOrEqual(rate(k) * (1 - 1e-9));
      expect(depth).toBe(1);
    }),
  );
});

test('several steps are under way where the way is long and guesses are right, fewer where others want the stages', () => {
  const far = { ...ringOf(0.5, 0.2, 40), ...alone, deepest: 8, draftMs: 0.4 };
  expect(draftPlan({ ...far, acceptance: 0.98 }).depth).toBeGreaterThan(4);
  expect(draftPlan({ ...far, acceptance: 0.98, deepest: 3 }).depth).toBe(3);
  expect(draftPlan({ ...far, acceptance: 0.5 }).depth).toBe(1);
  expect(draftPlan({ ...far, acceptance: 0.98, active: 64 }).depth).toBe(1);
  expect(draftPlan({ ...far, acceptance: 0.98, draftMs: 60 })).toEqual({ drafts: 0, depth: 1 });
  expect(draftPlan({ ...far, ...ringOf(0.5, 0.2, 0), acceptance: 0.4 }).depth).toBe(1);
  // Where processors are busy all the time several steps bring nothing.
  expect(draftPlan({ ...far, acceptance: 0.98, waysMs: 0 }).depth).toBe(1);
});

/** How long an answer takes, step by step: what the expectation of the plan is held against. */
function simulated(plan: DraftPlan, { acceptance, ringMs, slowestMs, draftMs }: DraftSituation, right: () => number) {
  const { drafts: k, depth } = plan;
  let [at, tokens] = [0, 0];
  while (tokens < 20_000) {
    let run = 0;
    while (run < 10_000 && right() < acceptance) run += 1;
    tokens += run + 1;
    if (depth === 1) {
      // What a step does not come to is judged by later ones.
      const steps = Math.ceil((run + 1) / (k + 1));
      at += steps * (k * draftMs + ringMs(k + 1));
      continue;
    }
    const back: number[] = [];
    let [free, drafted] = [at, at];
    for (let step = 0; ; step += 1) {
      drafted += k * draftMs;
      const sent = Math.max(drafted, free, step < depth ? 0 : (back[step - depth] ?? 0));
      drafted = sent;
      free = sent + slowestMs(step === 0 ? k + 1 : k);
      back[step] = sent + ringMs(step === 0 ? k + 1 : k);
      if (run <= k + step * k) break;
    }
    at = back.at(-1) ?? at;
  }
  return tokens / at;
}

test('what is expected is what a simulated pipeline does, so that the plan is never much worse than waiting', () => {
  const share = fc.double({ min: 0.3, max: 0.97, noNaN: true });
  const ms = fc.double({ min: 0.05, max: 5, noNaN: true });
  const way = fc.double({ min: 0, max: 60, noNaN: true });
  fc.assert(
    fc.property(
      share,
      ms,
      ms,
      way,
      fc.double({ min: 0, max: 3, noNaN: true }),
      (acceptance, fixed, row, wayMs, draftMs) => {
        const random = fc.sample(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), {
          numRuns: 997,
          seed: 7,
        });
        let drawn = 0;
        const right = (): number => {
          drawn += 1;
          return random[drawn % random.length] ?? 0;
        };
        const situation = { ...ringOf(fixed, row, wayMs), ...alone, acceptance, draftMs };
        const ahead = draftPlan({ ...situation, deepest: 8 });
        const waiting = draftPlan({ ...situation, deepest: 1 });
        fc.pre(ahead.depth > 1);
        const rate = (plan: DraftPlan): number => simulated(plan, { ...situation, deepest: 8 }, right);
        expect(rate(ahead)).toBeGreaterThan(rate(waiting) * 0.97);
      },
    ),
    { numRuns: 30, seed: 5 },
  );
});

test('acceptance follows what happens lately', () => {
  const acceptance = new Acceptance();
  for (let i = 0; i < 100; i += 1) acceptance.observe(4, 4);
  expect(acceptance.probability).toBeGreaterThan(0.95);
  for (let i = 0; i < 100; i += 1) acceptance.observe(4, 0);
  expect(acceptance.probability).toBeLessThan(0.1);
});

test('a lookup gives what followed the last time, the longest likeness first', () => {
  expect(lookupDraft([1, 2, 3, 4, 9, 1, 2, 3, 4], 3)).toEqual([9, 1, 2]);
  expect(lookupDraft([5, 1, 2, 7, 6, 1, 2, 8, 5, 1, 2], 2)).toEqual([7, 6]);
  expect(lookupDraft([1, 2, 7, 1, 2, 8, 1, 2], 1)).toEqual([8]);
  expect(lookupDraft([1, 2, 3], 4)).toEqual([]);
  expect(lookupDraft([], 4)).toEqual([]);
  expect(lookupDraft([1, 2, 1, 2], 9)).toEqual([1, 2]);
});
