import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StopStrings } from './stopStrings.ts';

/** The rule, said plainly and slowly: cut at the first place where a stop string ends, before the longest that does. */
function cutAtStop(text: string, stops: readonly string[]): { text: string; stopped: boolean } {
  for (let end = 1; end <= text.length; end += 1) {
    const ending = stops.filter((stop) => text.slice(0, end).endsWith(stop));
    if (ending.length > 0)
      return { text: text.slice(0, end - Math.max(...ending.map((s) => s.length))), stopped: true };
  }
  return { text, stopped: false };
}

// Two letters, so that near misses and overlaps are common.
const letters = fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 6 });
const pieces = fc.array(letters, { maxLength: 12 });
const stopList = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '😀'), minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 5,
});

describe('StopStrings', () => {
  it('releases what the plain rule says, however the text is cut', () => {
    fc.assert(
      fc.property(pieces, stopList, (parts, stops) => {
        const strings = new StopStrings(stops);
        const released = parts.map((part) => strings.push(part)).join('') + strings.flush();
        const expected = cutAtStop(parts.join(''), stops);
        expect(released).toBe(expected.text);
        expect(strings.stopped).toBe(expected.stopped);
      }),
      { numRuns: 5000 },
    );
  });

  it('never releases a part of a stop string, and holds back only what could become one', () => {
    fc.assert(
      fc.property(pieces, stopList, (parts, stops) => {
        const strings = new StopStrings(stops);
        let seen = '';
        let released = '';
        for (const part of parts) {
          seen += part;
          released += strings.push(part);
          if (strings.stopped) break;
          const held = seen.slice(released.length);
          expect(seen.startsWith(released)).toBe(true);
          const longest = stops.flatMap((stop) =>
            Array.from({ length: stop.length }, (_, n) => stop.slice(0, n)).filter((start) => seen.endsWith(start)),
          );
          expect(held.length).toBe(Math.max(0, ...longest.map((start) => start.length)));
          expect(held).not.toMatch(/^[\udc00-\udfff]/);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('passes text through without stop strings', () => {
    const strings = new StopStrings(['']);
    expect(strings.push('abc') + strings.flush()).toBe('abc');
  });

  it('stays quick on text that almost stops', () => {
    const strings = new StopStrings(Array.from({ length: 32 }, (_, n) => `${'a'.repeat(900 + n)}b`));
    let released = '';
    for (let n = 0; n < 5000; n += 1) released += strings.push('aaaa');
    expect(released.length).toBe(20_000 - 931);
    expect(strings.flush().length).toBe(931);
  });
});
