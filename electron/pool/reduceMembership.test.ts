import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newPeer } from './membershipState.ts';
import { reduceMembership } from './reduceMembership.ts';
import { formedPool, SimulatedPool } from './testing/simulatedPool.ts';

const seeds = fc.integer({ min: 1, max: 2 ** 31 });

describe('coming together', () => {
  test('members that start together agree on the first in rank within a second, without a second leader', () => {
    const pool = new SimulatedPool(['a', 'b', 'c']);
    pool.card('c', { pinned: true });
    pool.card('b', { shareBytes: 5 });
    pool.start();
    pool.runUntil(() => pool.leaderFor() === 'c', 1000);
    expect(pool.history.every(({ coordinator }) => coordinator === 'c')).toBe(true);
    expect(pool.viewOf('a').members.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'a alive',
      'b alive',
      'c alive',
    ]);
  });

  test('a member alone in its pool leads at once, one whose pool is out of reach after it has looked', () => {
    const alone = new SimulatedPool(['a']).start();
    expect(alone.runUntil(() => alone.leaderFor() === 'a', 500)).toBeLessThan(100);
    const early = new SimulatedPool(['a', 'b']).start('a');
    expect(early.runUntil(() => early.leaderFor(['a']) === 'a', 11_000)).toBeGreaterThanOrEqual(9900);
    early.kill('a');
    early.restart('a');
    expect(early.runUntil(() => early.leaderFor(['a']) === 'a', 4000)).toBeGreaterThanOrEqual(2900);
  });

  test('a newcomer of higher rank, a pin and a slider depose nobody', () => {
    const pool = formedPool(3);
    const { epoch } = pool.viewOf('a');
    pool.join('z');
    pool.card('z', { pinned: true, shareBytes: 1000 });
    pool.card('a', { shareBytes: 0 });
    pool.run(10_000);
    expect(pool.leaderFor()).toBe('a');
    expect(pool.viewOf('z')).toMatchObject({ epoch });
  });

  test('a newcomer that reaches nobody for seconds deposes nobody either', () => {
    const pool = formedPool(2);
    const { epoch } = pool.viewOf('a');
    pool.split(['z']);
    pool.join('z');
    pool.run(8000);
    pool.healAll();
    pool.run(5000);
    expect(pool.viewOf('z')).toMatchObject({ epoch, coordinator: 'a' });
    expect(pool.viewOf('a')).toMatchObject({ epoch, coordinator: 'a' });
  });

  test('a newcomer is not shown as alive what the others have lost', () => {
    const pool = formedPool(3);
    pool.kill('b');
    pool.run(2000);
    pool.join('z');
    pool.runUntil(() => pool.livenessOf('c', 'z') === 'alive', 1000);
    expect(pool.livenessOf('b', 'z')).toBe('lost');
    pool.run(5000);
    expect(pool.losses.filter(({ by }) => by === 'z')).toEqual([]);
  });

  test('a removed member is nobody, and its pool goes on', () => {
    const pool = formedPool(3);
    pool.remove('a');
    pool.runUntil(() => pool.leaderFor() === 'b', 1000);
    expect(pool.viewOf('c').members.map(({ id }) => id)).toEqual(['b', 'c']);
  });
});

describe('loss', () => {
  test('a process that ends is lost within a second, one that hangs or is cut off within 3.5, and the next one leads', () => {
    fc.assert(
      fc.property(seeds, fc.constantFrom('kill', 'stop', 'cut'), (seed, how) => {
        const pool = formedPool(4, seed);
        pool.weather.delayMs = 20;
        pool.run(seed % 700);
        if (how === 'kill') pool.kill('a');
        if (how === 'stop') pool.stop('a', 60_000);
        if (how === 'cut') pool.split(['a']);
        const others = ['b', 'c', 'd'];
        const lost = pool.runUntil(() => others.every((by) => pool.livenessOf('a', by) === 'lost'), 5000);
        const elected = pool.runUntil(() => pool.leaderFor(others) === 'b', 5000);
        expect(lost).toBeLessThanOrEqual(how === 'kill' ? 1000 : 3500);
        expect(lost + elected).toBeLessThanOrEqual(4000);
        expect(pool.viewOf('b').epoch).toEqual({ counter: 2, coordinator: 'b' });
      }),
      { numRuns: 30 },
    );
  });

  test('a process that ends right after a cable was plugged in is lost within a second, whatever dials are under way', () => {
    for (let afterMs = 0; afterMs <= 3000; afterMs += 50) {
      const pool = formedPool(3, 1 + afterMs);
      pool.split(['a']);
      pool.run(4000);
      pool.healAll();
      pool.runUntil(() => ['b', 'c'].every((by) => pool.livenessOf('a', by) === 'alive'), 5000);
      pool.run(afterMs);
      pool.kill('a');
      pool.runUntil(() => ['b', 'c'].every((by) => pool.livenessOf('a', by) === 'lost'), 1000);
    }
  });

  test('silence is suspect before it is a loss', () => {
    const pool = formedPool(2);
    pool.cut('a', 'b');
    const suspect = pool.runUntil(() => pool.livenessOf('b', 'a') === 'suspect', 3000);
    const lost = pool.runUntil(() => pool.livenessOf('b', 'a') === 'lost', 3000);
    expect(suspect).toBeGreaterThanOrEqual(1000);
    expect(lost).toBeGreaterThanOrEqual(1400);
  });

  test('a broken connection that can be made again is no loss, nor is one that others vouch for', () => {
    const pool = formedPool(3);
    pool.reset('a', 'b');
    pool.run(5000);
    expect(pool.losses).toEqual([]);
    pool.cut('a', 'b');
    pool.reset('a', 'b');
    pool.run(20_000);
    expect(pool.losses).toEqual([]);
    expect(pool.leaderFor()).toBe('a');
  });

  test('a member that somebody in between declares dead is back by what others say', () => {
    const pool = formedPool(4);
    pool.refuse('b', 'c');
    pool.runUntil(() => pool.livenessOf('c', 'b') === 'lost', 500);
    pool.runUntil(() => pool.livenessOf('c', 'b') === 'alive', 2000);
    const count = pool.losses.length;
    pool.run(20_000);
    expect(pool.losses).toHaveLength(count);
    expect(pool.leaderFor()).toBe('a');
  });

  test('progress on the data plane counts as life, but not of a process that is gone', () => {
    const pool = formedPool(2);
    pool.cut('a', 'b');
    for (let step = 0; step < 10; step += 1) {
      pool.run(1000);
      pool.progress('a', 'b');
    }
    expect(pool.livenessOf('b', 'a')).toBe('alive');
    expect(pool.livenessOf('a', 'b')).toBe('lost');

    const other = formedPool(2);
    other.kill('b');
    other.run(100);
    other.progress('a', 'b');
    other.run(100);
    expect(other.livenessOf('b', 'a')).toBe('lost');
  });

  test('a process that is gone does not live on in what others heard of it last', () => {
    const pool = formedPool(3);
    pool.kill('b');
    pool.run(100);
    const state = pool.stateOf('a');
    const record = state.peers.get('b')?.record;
    const [link] = state.peers.get('c')?.links.keys() ?? [];
    if (!record || link === undefined) throw new Error('a has heard of b and has a link to c');
    const heard = (beats: number, silentMs: number) => {
      const news = [{ record: { ...record, sequence: record.sequence + beats }, silentMs }];
      const beat = { type: 'beat', at: state.now, peer: 'c', link, beat: { epoch: null, news } } as const;
      return reduceMembership(state, beat).state.view.members.find(({ id }) => id === 'b')?.state;
    };
    expect(heard(1, 100)).toBe('lost');
    expect(heard(9, 3000)).toBe('lost');
    expect(heard(9, 100)).toBe('alive');
  });

  test('a goodbye is no loss; the leader that says it is followed at once', () => {
    const pool = formedPool(3);
    pool.leave('a');
    pool.runUntil(() => pool.leaderFor(['b', 'c']) === 'b', 200);
    pool.run(10_000);
    expect(pool.livenessOf('a', 'b')).toBe('left');
    expect(pool.losses).toEqual([]);
    pool.restart('a');
    pool.runUntil(() => pool.livenessOf('a', 'c') === 'alive', 1000);
    expect(pool.leaderFor()).toBe('b');
  });

  test('a leader that abstains hands over, unless nobody else is there', () => {
    const pool = formedPool(2);
    pool.card('a', { abstains: true });
    pool.runUntil(() => pool.leaderFor() === 'b', 500);
    pool.kill('b');
    pool.runUntil(() => pool.leaderFor() === 'a', 1000);
  });
});

describe('coming back', () => {
  test('a restart is one member with a higher incarnation, whether anybody noticed or not', () => {
    for (const awayMs of [0, 300, 10_000]) {
      const pool = formedPool(3);
      const before = pool.viewOf('b').members.find(({ id }) => id === 'c')?.incarnation ?? 0;
      if (awayMs > 0) pool.kill('c');
      pool.run(awayMs);
      pool.restart('c');
      pool.run(2500);
      const { members } = pool.viewOf('b');
      expect(members.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
      expect(members.find(({ id }) => id === 'c')).toMatchObject({ state: 'alive', incarnation: before + 1 });
      expect(pool.leaderFor()).toBe('a');
    }
  });

  test('a leader that restarts leads only by a new epoch', () => {
    const pool = formedPool(3);
    pool.restart('a');
    pool.runUntil(() => pool.leaderFor() === 'a' && pool.viewOf('b').epoch?.counter === 2, 4000);
  });

  test('a member whose disk was put back is believed again', () => {
    const pool = formedPool(3);
    for (let start = 0; start < 5; start += 1) pool.restart('c');
    pool.run(3000);
    pool.wipe('c');
    pool.restart('c');
    pool.runUntil(() => pool.livenessOf('c', 'a') === 'alive' && pool.leaderFor() === 'a', 2000);
    pool.run(5000);
    expect(pool.twinsOf('c')).toBe(0);
    expect(pool.livenessOf('c', 'b')).toBe('alive');
  });

  test('a lid closed for ten minutes is a loss for the others only, and it is back in no time', () => {
    const pool = formedPool(3);
    pool.sleep('b', 600_000);
    pool.run(600_000);
    expect(pool.livenessOf('b', 'a')).toBe('lost');
    const { epoch } = pool.viewOf('a');
    pool.runUntil(() => ['a', 'c'].every((by) => pool.livenessOf('b', by) === 'alive'), 1000);
    pool.run(10_000);
    expect(pool.losses.filter(({ by }) => by === 'b')).toEqual([]);
    expect(pool.viewOf('b')).toMatchObject({ coordinator: 'a', epoch });
  });

  test('waking dials anew, because the others have closed what still looks open', () => {
    const state = formedPool(2).stateOf('a');
    const at = state.now + 100;
    const wall = at + (state.wallAhead ?? 0);
    const effectsOf = (passed: { at: number; wall: number }): string[] =>
      reduceMembership(state, { type: 'tick', ...passed }).effects.map(({ type }) => type);
    expect(effectsOf({ at, wall })).not.toContain('closeLink');
    for (const passed of [
      { at: at + 60_000, wall },
      { at, wall: wall + 60_000 },
    ]) {
      expect(effectsOf(passed)).toEqual(expect.arrayContaining(['closeLink', 'dial']));
    }
  });

  test('a member that wakes before its network deposes nobody, and leads alone where its pool is out of reach for good', () => {
    for (const how of ['sleep', 'stop'] as const) {
      const pool = formedPool(3);
      const { epoch } = pool.viewOf('a');
      pool[how]('b', 600_000);
      pool.run(590_000);
      pool.split(['b']);
      pool.run(22_000);
      expect(pool.livenessOf('a', 'b')).toBe('lost');
      expect(pool.leaderFor(['b'])).toBeNull();
      pool.healAll();
      pool.runUntil(() => ['a', 'c'].every((by) => pool.livenessOf('b', by) === 'alive'), 5000);
      pool.run(30_000);
      expect(pool.leaderFor()).toBe('a');
      expect(pool.viewOf('b').epoch).toEqual(epoch);

      pool[how]('b', 10_000);
      pool.run(9000);
      pool.split(['b']);
      const alone = pool.runUntil(() => pool.leaderFor(['b']) === 'b', 30_000);
      expect(alone).toBeGreaterThan(20_000);
    }
  });

  test('a pool whose machines have all slept, its leader for good, elects as soon as the others have met', () => {
    const pool = formedPool(3);
    for (const id of ['b', 'c']) pool.sleep(id, 30_000);
    pool.kill('a');
    pool.run(30_000);
    pool.runUntil(() => pool.leaderFor() === 'b', 5000);
  });

  test('a machine that has moved to another network looks for everybody at once', () => {
    const pool = formedPool(2);
    pool.split(['b']);
    pool.run(60_000);
    const state = pool.stateOf('b');
    const [waiting] = [...state.peers.values()].filter(({ dialling }) => !dialling);
    const idle = {
      ...state,
      peers: new Map([['a', { ...(waiting ?? newPeer), addresses: ['a:1'], nextDialAt: 1e9 }]]),
    };
    const dialsFor = (hosts: string[]): number => {
      const event = { type: 'card', at: state.now, card: { ...state.own.card, hosts } } as const;
      return reduceMembership(idle, event).effects.filter(({ type }) => type === 'dial').length;
    };
    expect([dialsFor([...state.own.card.hosts]), dialsFor(['elsewhere'])]).toEqual([0, 1]);
  });

  test('a leader that slept follows the one that was elected meanwhile', () => {
    for (const how of ['sleep', 'stop'] as const) {
      const pool = formedPool(3);
      pool[how]('a', 30_000);
      pool.run(30_000);
      pool.runUntil(() => pool.leaderFor() === 'b', 1500);
      pool.run(10_000);
      expect(pool.leaderFor()).toBe('b');
      expect(pool.losses.filter(({ by }) => by === 'a')).toEqual([]);
    }
  });

  test('two processes with one id are told apart, and both know it', () => {
    const pool = formedPool(3);
    const twin = pool.twin('c');
    pool.run(5000);
    expect(pool.twinsOf('c')).toBeGreaterThan(0);
    expect(twin.twins).toBeGreaterThan(0);
    expect(pool.viewOf('a').members).toHaveLength(3);
  });
});

describe('two halves', () => {
  test('each half has a leader; once healed the higher epoch leads, and nobody who stayed was deposed on the way', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const pool = formedPool(5, seed);
        pool.split(['a', 'b']);
        pool.runUntil(() => pool.leaderFor(['a', 'b']) === 'a' && pool.leaderFor(['c', 'd', 'e']) === 'c', 4500);
        pool.run(20_000);
        expect(pool.history.filter(({ at, id }) => at > 5000 && (id === 'a' || id === 'b'))).toEqual([]);
        const epoch = pool.viewOf('c').epoch;
        expect(epoch).toEqual({ counter: 2, coordinator: 'c' });
        pool.healAll();
        pool.runUntil(() => pool.leaderFor() === 'c', 6000);
        pool.run(5000);
        expect(pool.viewOf('a')).toMatchObject({ coordinator: 'c', epoch });
      }),
      { numRuns: 20 },
    );
  });

  test('who led once comes no sooner to lead again', () => {
    const pool = formedPool(4);
    pool.split(['a', 'b']);
    pool.run(8000);
    pool.healAll();
    pool.runUntil(() => pool.leaderFor() === 'c', 6000);
    pool.card('d', { pinned: true });
    pool.run(1000);
    pool.kill('c');
    pool.runUntil(() => pool.leaderFor() === 'd', 1000);
  });

  test('an epoch whose leader is gone deposes nobody', () => {
    const pool = formedPool(4);
    pool.card('a', { shareBytes: 0 });
    pool.card('c', { shareBytes: 100 });
    pool.card('d', { pinned: true });
    pool.split(['a', 'b']);
    pool.run(8000);
    expect(pool.viewOf('c').epoch).toEqual({ counter: 2, coordinator: 'd' });
    pool.kill('c');
    pool.kill('d');
    pool.healAll();
    pool.restart('c');
    pool.runUntil(() => pool.leaderFor() === 'a' && pool.viewOf('c').epoch?.counter === 3, 5000);
  });
});
