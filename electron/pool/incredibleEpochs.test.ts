import { describe, expect, test } from 'vitest';
import { reachableCounter } from './reachableCounter.ts';
import { reduceMembership } from './reduceMembership.ts';
import { formedPool, type SimulatedPool } from './testing/simulatedPool.ts';

describe('a member gone wrong', () => {
  /** What `to` makes of a beat that `from` might have sent. */
  function beatFrom(pool: SimulatedPool, from: string, to: string, counter: number) {
    const state = pool.stateOf(to);
    const record = state.peers.get(from)?.record;
    const [link] = state.peers.get(from)?.links.keys() ?? [];
    if (!record || link === undefined) throw new Error(`${to} has heard of ${from} and has a link to it.`);
    const news = [{ record: { ...record, sequence: record.sequence + 1, leads: counter }, silentMs: 0 }];
    const beat = { epoch: { counter, coordinator: from }, news };
    return reduceMembership(state, { type: 'beat', at: state.now, peer: from, link, beat });
  }

  test('an epoch that no pool of that age has come to is not believed, and said to be so once it is named', () => {
    const pool = formedPool(3);
    for (const counter of [2 ** 50, 2e6]) {
      const { state, effects } = beatFrom(pool, 'c', 'b', counter);
      expect(effects).toContainEqual({ type: 'incredible', peer: 'c' });
      expect(effects.map(({ type }) => type)).not.toContain('persist');
      expect(state.view.coordinator).toBe('a');
    }
    expect(beatFrom(pool, 'c', 'b', 900_000).effects).toContainEqual(expect.objectContaining({ type: 'persist' }));
  });

  test('the highest epoch that is believed is outbid once its member is gone', () => {
    const pool = formedPool(3);
    const highest = reachableCounter(1e12, 1e12 + pool.stateOf('c').now);
    pool.usurp('c', highest);
    pool.runUntil(() => pool.leaderFor() === 'c', 2000);
    pool.remove('c');
    pool.runUntil(() => pool.leaderFor() === 'a', 2000);
    expect(pool.viewOf('b').epoch).toEqual({ counter: highest + 1, coordinator: 'a' });
  });

  test('a start of another member that cannot have been is not believed', () => {
    const pool = formedPool(3);
    const state = pool.stateOf('b');
    const [link] = state.peers.get('c')?.links.keys() ?? [];
    const forged = { ...state.own, run: 'another', incarnation: 2 ** 50 };
    const beat = { epoch: null, news: [{ record: forged, silentMs: 0 }] };
    const event = { type: 'beat', at: state.now, peer: 'c', link: link ?? '', beat } as const;
    expect(reduceMembership(state, event).state.own).toEqual(state.own);
  });

  test('the bound is the same for a clock that is wrong, and grows with the age of a pool', () => {
    expect(reachableCounter(1e12, 0)).toBe(1e6);
    expect(reachableCounter(1e12, 1e12 + 3_600_000)).toBe(1e6 + 36_000);
  });
});
