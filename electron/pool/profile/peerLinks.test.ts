import { beforeEach, expect, test } from 'vitest';
import type { PeerProbe } from '../../wire/probePeer.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { PeerLinks } from './peerLinks.ts';

let clock: VirtualClock;
let links: PeerLinks;
let asked: string[];
let problems: string[];
let changes: number;
/** The probes that run; a test ends each. */
let running: { member: string; signal: AbortSignal; done(rttMs: number): void; fail(): void }[];

beforeEach(() => {
  clock = new VirtualClock();
  [asked, problems, running, changes] = [[], [], [], 0];
  links = new PeerLinks({
    clock,
    probe: (member, signal) => {
      asked.push(member);
      return new Promise<PeerProbe>((resolve, reject) => {
        const fail = (): void => reject(new Error('unreachable'));
        signal.addEventListener('abort', fail);
        running.push({ member, signal, done: (rttMs) => resolve({ rttMs, bytesPerSecond: 1e8 }), fail });
      });
    },
    onChange: () => {
      changes += 1;
    },
    onProblem: (member) => problems.push(member),
  });
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  await settled();
}
async function finish(how: 'done' | 'fail', rttMs = 1): Promise<void> {
  const probe = running.shift();
  if (how === 'done') probe?.done(rttMs);
  else probe?.fail();
  await settled();
}

test('every member is measured when it joins, one after the other, and again later', async () => {
  links.set(['a', 'b']);
  await pass(0);
  expect(asked).toEqual(['a']);
  await finish('done', 3);
  await pass(0);
  expect(asked).toEqual(['a', 'b']);
  await finish('done', 4);
  expect([...links.links()]).toMatchObject([
    ['a', { rttMs: 3, bytesPerSecond: 1e8, measuredAt: clock.wall() }],
    ['b', { rttMs: 4 }],
  ]);
  expect(changes).toBe(2);
  links.set(['a', 'b']);
  await pass(4 * 60_000);
  expect(asked).toHaveLength(2);
  await pass(60_000);
  expect(asked).toEqual(['a', 'b', 'a']);
});

test('what fails is tried again after longer and longer, and what was known stays', async () => {
  links.set(['a']);
  await pass(0);
  await finish('done', 3);
  links.refresh('a');
  await pass(0);
  await finish('fail');
  expect(problems).toEqual(['a']);
  expect(links.links().get('a')?.rttMs).toBe(3);
  const gaps: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    let gap = 0;
    while (running.length === 0) {
      await pass(1000);
      gap += 1;
    }
    gaps.push(gap);
    await finish('fail');
  }
  expect(gaps).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
});

test('a member that goes takes its numbers and its probe along', async () => {
  links.set(['a', 'b']);
  await pass(0);
  await finish('done');
  await pass(0);
  links.set(['b']);
  expect([...links.links().keys()]).toEqual([]);
  links.set([]);
  expect(running[0]?.signal.aborted).toBe(true);
  await settled();
  expect(problems).toEqual([]);
  links.set(['b']);
  await pass(0);
  expect(asked).toEqual(['a', 'b', 'b']);
});

test('nothing happens any more after it was closed', async () => {
  links.set(['a']);
  await pass(0);
  links.close();
  await settled();
  links.set(['a', 'b']);
  await pass(10 * 60_000);
  expect(asked).toEqual(['a']);
  expect([problems, changes]).toEqual([[], 0]);
});
