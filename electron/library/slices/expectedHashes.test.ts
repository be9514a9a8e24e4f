import { expect, test } from 'vitest';
import { ExpectedHashes } from './expectedHashes.ts';

const claim = (member: string, sha256: string, recorded: boolean) => ({ member, sha256, recorded });

test('the first claim counts, equal ones agree, and a recorded one outweighs what a disk gives now', () => {
  const hashes = new ExpectedHashes();
  expect(hashes.claim('t', claim('ada', 'x', false))).toEqual({ kind: 'New' });
  expect(hashes.claim('t', claim('bob', 'x', false))).toEqual({ kind: 'Agrees' });
  expect(hashes.claim('t', claim('cyd', 'y', true))).toEqual({ kind: 'Damaged', member: 'ada' });
  expect(hashes.get('t')).toBe('y');
  expect(hashes.claim('t', claim('bob', 'x', false))).toEqual({ kind: 'Damaged', member: 'bob' });
  expect(hashes.get('t')).toBe('y');
});

test.each([true, false])(
  'claims of equal weight that differ are an error that names both (recorded: %s)',
  (recorded) => {
    const hashes = new ExpectedHashes();
    hashes.claim('blk.0.attn_q.weight', claim('ada', 'x', recorded));
    const disagree = () => hashes.claim('blk.0.attn_q.weight', claim('bob', 'y', recorded));
    expect(disagree).toThrow(/blk\.0\.attn_q\.weight is not the same on ada and bob/);
  },
);
