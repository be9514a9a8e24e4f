import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '../testing/virtualClock.ts';
import type { FoundMember } from './directory.ts';
import { Discovery } from './discovery.ts';
import type { NetworkCards } from './networkCard.ts';

/** Real sockets, on the loopback card alone; e2e/lan has it on real networks. */
const LOOPBACK: NetworkCards = {
  usable: [{ name: 'lo', medium: 'unknown', zone: 'lo', addresses: [{ host: '127.0.0.1', cidr: '127.0.0.1/8' }] }],
  skipped: [],
};
const NO_CARDS: NetworkCards = { usable: [], skipped: [] };

let pool: string;
let open: Discovery[];

beforeEach(() => {
  pool = randomBytes(16).toString('hex');
  open = [];
});

afterEach(async () => {
  await Promise.all(open.map((discovery) => discovery.stop()));
});

async function start(id: string) {
  const clock = new VirtualClock();
  const events: string[] = [];
  const waiting = new Set<() => void>();
  const note = (event: string): void => {
    events.push(event);
    for (const look of waiting) look();
  };
  const network = { cards: LOOPBACK };
  const discovery = await Discovery.start({
    self: { id, pool, build: 'b', port: 7000 },
    wanted: () => true,
    onFound: (member: FoundMember) => note(`found ${member.id}`),
    onGone: (gone) => note(`gone ${gone}`),
    onTwin: () => note('twin'),
    cards: async () => network.cards,
    clock,
  });
  open.push(discovery);
  const says = (event: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!events.includes(event)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return { discovery, clock, events, network, says };
}

test('who falls silent is forgotten after a while, and is found again when it comes back', async () => {
  const one = await start('one');
  const two = await start('two');
  await Promise.all([one.says('found two'), two.says('found one')]);
  two.network.cards = NO_CARDS;
  await two.clock.advance(2000);
  await two.says('gone one');
  await one.clock.advance(90_000);
  expect(one.events).toEqual(['found two']);
  await one.clock.advance(40_000);
  expect(one.events).toEqual(['found two', 'gone two']);
  expect(one.discovery.found()).toEqual([]);

  one.events.length = 0;
  two.network.cards = LOOPBACK;
  await two.clock.advance(2000);
  await one.says('found two');
});

test('it asks less and less often, and again at once after a sleep', async () => {
  const { discovery, clock, events } = await start('one');
  expect(discovery.facts().looks).toBe(1);
  await clock.advance(120_000);
  const before = discovery.facts().looks;
  expect(before).toBeLessThan(10);
  clock.sleep(600_000);
  await clock.advance(2000);
  expect(discovery.facts().looks).toBeGreaterThan(before);
  await clock.advance(7000);
  expect(discovery.facts().looks).toBeGreaterThanOrEqual(before + 3);
  expect(events).toEqual([]);
});

test('a goodbye is told, and nothing after a stop', async () => {
  const one = await start('one');
  const two = await start('two');
  await Promise.all([one.says('found two'), two.says('found one')]);
  await two.discovery.stop();
  await one.says('gone two');
  await two.clock.advance(60_000);
  expect(two.events).toEqual(['found one']);
  expect(two.discovery.facts().open).toEqual([]);
});
