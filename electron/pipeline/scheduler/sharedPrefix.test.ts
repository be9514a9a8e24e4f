import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PrefixHolder, prefixToAwait, prefixToCopy, worthCopying } from './sharedPrefix.ts';

test('a copy must save more where slots are longer, and never less than sixteen tokens', () => {
  expect([64, 4096, 8192, 131_072].map(worthCopying)).toEqual([16, 16, 32, 512]);
});

const tokens = fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 1, maxLength: 12 });
const holders = fc.array(
  fc.tuple(tokens, fc.nat(12), fc.nat(12)).map(([all, one, other]): PrefixHolder => {
    const [sent, coming] = [Math.min(one, other, all.length), Math.min(Math.max(one, other), all.length)];
    return { tokens: all, sent, coming };
  }),
  { maxLength: 5 },
);
const rules = fc.record({ unit: fc.integer({ min: 1, max: 4 }), worth: fc.integer({ min: 1, max: 6 }) });

/** Whole units that a prompt, but for its last token, begins like the first `reach` tokens of a holder, counted one by one. */
function inCommon(prompt: readonly number[], { tokens: held }: PrefixHolder, reach: number, unit: number): number {
  let length = 0;
  while (length < prompt.length - 1 && length < reach && prompt[length] === held[length]) length += 1;
  return Math.floor(length / unit) * unit;
}

test('what is copied is the longest beginning that was sent, where it saves enough', () => {
  fc.assert(
    fc.property(tokens, fc.nat(8), holders, rules, (prompt, held, all, rule) => {
      const longest = Math.max(0, ...all.map((holder) => inCommon(prompt, holder, holder.sent, rule.unit)));
      const copied = prefixToCopy(prompt, held, all, rule);
      expect(copied?.length ?? null).toBe(longest - held >= rule.worth ? longest : null);
      if (copied !== null) expect(inCommon(prompt, copied.holder, copied.holder.sent, rule.unit)).toBe(longest);
    }),
  );
});

test('what is waited for is on its way, and so much more than is held', () => {
  fc.assert(
    fc.property(tokens, fc.nat(8), holders, rules, (prompt, held, all, rule) => {
      const awaited = prefixToAwait(prompt, held, all, rule);
      const longest = Math.max(0, ...all.map((holder) => inCommon(prompt, holder, holder.coming, rule.unit)));
      if (awaited === null) {
        const isSent = all.some((holder) => inCommon(prompt, holder, holder.sent, rule.unit) === longest);
        expect(isSent || longest - held < rule.worth).toBe(true);
      } else {
        expect(awaited.length).toBe(longest);
        expect(longest - held).toBeGreaterThanOrEqual(rule.worth);
        expect(awaited.holder.sent).toBeLessThan(longest);
        expect(inCommon(prompt, awaited.holder, awaited.holder.coming, rule.unit)).toBe(longest);
      }
    }),
  );
});
