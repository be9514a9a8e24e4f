import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HOLD_MS, NoAddressAnswered, raceAddresses, STAGGER_MS } from './addressRace.ts';
import type { Candidate } from './discovery/candidate.ts';
import type { Medium } from './discovery/networkCard.ts';
import { VirtualClock } from './testing/virtualClock.ts';

/** How an address behaves: it answers or fails after so many ms, or hangs. */
type Behaviour = { answers: number } | { fails: number } | 'hangs';

interface Network {
  clock: VirtualClock;
  /** `ADDRESS at MS` for every dial. */
  dialled: string[];
  /** Addresses whose connection was handed back. */
  discarded: string[];
  /** Addresses whose dial was given up. */
  aborted: string[];
}

function run(addresses: [string, Medium, Behaviour][], options: { signal?: AbortSignal } = {}) {
  const network: Network = { clock: new VirtualClock(), dialled: [], discarded: [], aborted: [] };
  const behaviours = new Map(addresses.map(([address, , behaviour]) => [address, behaviour]));
  const dial = ({ address }: Candidate, signal: AbortSignal): Promise<string> => {
    network.dialled.push(`${address} at ${network.clock.now()}`);
    signal.addEventListener('abort', () => network.aborted.push(address));
    const behaviour = behaviours.get(address) ?? 'hangs';
    // As a careless dial: it goes on when it is told that it is not wanted.
    return new Promise((resolve, reject) => {
      if (behaviour === 'hangs') return;
      if ('answers' in behaviour) network.clock.after(behaviour.answers, () => resolve(address));
      else network.clock.after(behaviour.fails, () => reject(new Error('refused')));
    });
  };
  const race = raceAddresses({
    candidates: addresses.map(([address, medium]) => ({ address, medium })),
    dial,
    discard: (address) => network.discarded.push(address),
    clock: network.clock,
    ...options,
  });
  let winner: string | null = null;
  let failure: unknown = null;
  const ended = race.then(
    ({ candidate }) => {
      winner = candidate.address;
    },
    (why: unknown) => {
      failure = why;
    },
  );
  return { ...network, winner: () => winner, failure: () => failure, ended };
}

describe('a race of addresses', () => {
  test('the first that answers wins, those after it are never dialled', async () => {
    const race = run([
      ['a', 'wired', { answers: 20 }],
      ['b', 'wired', { answers: 1 }],
    ]);
    await race.clock.advance(1000);
    expect(race.winner()).toBe('a');
    expect(race.dialled).toEqual(['a at 0']);
  });

  test('a dead address costs one head start, a refusing one nothing', async () => {
    const race = run([
      ['dead', 'wired', 'hangs'],
      ['refusing', 'wired', { fails: 5 }],
      ['good', 'wired', { answers: 10 }],
    ]);
    await race.clock.advance(STAGGER_MS + 5 + 10);
    expect(race.winner()).toBe('good');
    expect(race.dialled).toEqual(['dead at 0', `refusing at ${STAGGER_MS}`, `good at ${STAGGER_MS + 5}`]);
    expect(race.aborted).toEqual(['dead']);
  });

  test('a wireless answer waits a moment for the wired one', async () => {
    const race = run([
      ['cable', 'wired', { answers: STAGGER_MS + 50 }],
      ['air', 'wireless', { answers: 10 }],
    ]);
    await race.clock.advance(STAGGER_MS + 49);
    expect(race.winner()).toBeNull();
    await race.clock.advance(1);
    expect(race.winner()).toBe('cable');
    expect(race.discarded).toEqual(['air']);
  });

  test('but not for ever, and the late wired one is handed back', async () => {
    const race = run([
      ['cable', 'wired', { answers: 5000 }],
      ['air', 'wireless', { answers: 10 }],
    ]);
    await race.clock.advance(STAGGER_MS + 10 + HOLD_MS);
    expect(race.winner()).toBe('air');
    expect(race.aborted).toEqual(['cable']);
    await race.clock.advance(5000);
    expect(race.discarded).toEqual(['cable']);
  });

  test('all fail: every reason is named', async () => {
    const race = run([
      ['10.0.0.1:1', 'wired', { fails: 1 }],
      ['10.0.0.2:1', 'wired', { fails: 1 }],
    ]);
    await race.clock.advance(1000);
    expect(race.failure()).toBeInstanceOf(NoAddressAnswered);
    expect(String(race.failure())).toContain('10.0.0.1:1 (refused); 10.0.0.2:1 (refused)');
    const none = run([]);
    await none.clock.advance(0);
    expect(String(none.failure())).toContain('No address is known');
  });

  test('given up, it ends with the reason and hands back what it held', async () => {
    const controller = new AbortController();
    const race = run(
      [
        ['cable', 'wired', 'hangs'],
        ['air', 'wireless', { answers: 1 }],
      ],
      { signal: controller.signal },
    );
    await race.clock.advance(STAGGER_MS + 1);
    controller.abort(new Error('enough'));
    await race.ended;
    expect(race.failure()).toEqual(new Error('enough'));
    expect(race.discarded).toEqual(['air']);
    expect(race.aborted).toEqual(['cable']);
  });

  test('whatever the network does: one end, a reachable address is found, nothing reached is lost track of', async () => {
    const behaviour = fc.oneof(
      fc.record({ answers: fc.nat(1000) }),
      fc.record({ fails: fc.nat(1000) }),
      fc.constant<Behaviour>('hangs'),
    );
    const medium = fc.constantFrom<Medium>('wired', 'wireless', 'unknown');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(medium, behaviour), { maxLength: 6 }), async (network) => {
        const race = run(network.map(([way, how], index) => [`a${index}`, way, how]));
        await race.clock.advance(10_000);
        const reachable = network.flatMap(([, how], index) =>
          how !== 'hangs' && 'answers' in how ? [`a${index}`] : [],
        );
        if (reachable.length > 0) expect(reachable).toContain(race.winner());
        else expect(race.winner()).toBeNull();
        const hangs = network.some(([, how]) => how === 'hangs');
        if (reachable.length === 0 && !hangs) expect(race.failure()).toBeInstanceOf(NoAddressAnswered);
        const reached = race.dialled
          .map((line) => line.split(' ')[0])
          .filter((address) => reachable.includes(address ?? ''));
        expect([...race.discarded, race.winner()].filter((address) => address !== null).sort()).toEqual(reached.sort());
      }),
      { numRuns: 200 },
    );
  });
});
