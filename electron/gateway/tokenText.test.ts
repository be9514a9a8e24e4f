import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TokenPieces } from '../pipeline/serving/servedModel.ts';
import { TokenText } from './tokenText.ts';

/** A vocabulary whose tokens are exactly these byte runs, in order. */
function vocabulary(runs: readonly Uint8Array[]): TokenPieces {
  const offsets = [0];
  for (const run of runs) offsets.push((offsets.at(-1) ?? 0) + run.length);
  return { bytes: Buffer.concat(runs), offsets: Uint32Array.from(offsets) };
}

function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const edges = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
}

const character = fc.oneof(
  fc.constantFrom('👩‍🚀', '🏳️‍🌈', '🇳🇴', '漢', '字', 'é', 'ß', '\u{10ffff}', '\ufeff', '\u0000', 'a'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);
const text = fc.array(character, { maxLength: 30 }).map((parts) => parts.join('').replace(/\p{Surrogate}/gu, ''));

describe('TokenText', () => {
  it('joins to the text wherever its bytes are cut, and every delta is whole characters', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 60 }), (whole, places) => {
        const runs = cut(Buffer.from(whole, 'utf8'), places);
        const tokens = new TokenText(vocabulary(runs));
        const deltas = runs.map((_, id) => tokens.push(id));
        expect(deltas.join('')).toBe(whole);
        for (const delta of deltas) {
          expect(delta).not.toMatch(/\p{Surrogate}/u);
          if (!whole.includes('\ufffd')) expect(delta).not.toContain('\ufffd');
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('shows a character with its last byte, not later', () => {
    const bytes = Buffer.from('😀', 'utf8');
    const tokens = new TokenText(vocabulary([...bytes].map((byte) => Uint8Array.of(byte))));
    expect([0, 1, 2, 3].map((id) => tokens.push(id))).toEqual(['', '', '', '😀']);
  });

  it('marks bytes that can become no character and goes on', () => {
    const tokens = new TokenText(vocabulary([Uint8Array.of(0xf0, 0x9f), Buffer.from('ok'), Uint8Array.of(0xff)]));
    expect([0, 1, 2].map((id) => tokens.push(id)).join('')).toBe('\ufffdok\ufffd');
  });

  it('says nothing for a control token in the midst of a character', () => {
    const tokens = new TokenText(vocabulary([Uint8Array.of(0xc3), Uint8Array.of(), Uint8Array.of(0xa9)]));
    expect([0, 1, 2].map((id) => tokens.push(id))).toEqual(['', '', 'é']);
  });

  it('refuses a token outside the vocabulary', () => {
    expect(() => new TokenText(vocabulary([Uint8Array.of(65)])).push(1)).toThrow(RangeError);
  });
});
