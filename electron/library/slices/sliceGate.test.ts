import { beforeEach, expect, test } from 'vitest';
import { SliceGate } from './sliceGate.ts';

const { signal } = new AbortController();
let now: number;
let isLoaded: boolean;
let settings: { bytesPerSecond: number | null; loadedShare: number };
let gate: SliceGate;

beforeEach(() => {
  now = 0;
  isLoaded = true;
  settings = { bytesPerSecond: null, loadedShare: 0.1 };
  const rest = async (ms: number): Promise<void> => {
    now += ms;
  };
  gate = new SliceGate({ settings: () => settings, isLoaded: () => isLoaded, clock: () => now, rest });
});

/** Several receivers that each take blocks as soon as they may; each block keeps the holder busy for 4 ms. */
async function send(receivers: number, blocks: number): Promise<{ busy: number; mostAtOnce: number }> {
  let [busy, atOnce, mostAtOnce] = [0, 0, 0];
  const receiver = async (): Promise<void> => {
    for (let block = 0; block < blocks; block += 1) {
      const end = await gate.begin(gate.mostBytes === Number.POSITIVE_INFINITY ? 256 * 1024 : gate.mostBytes, signal);
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      await Promise.resolve();
      now += 4;
      busy += 4;
      atOnce -= 1;
      end();
    }
  };
  await Promise.all(Array.from({ length: receivers }, receiver));
  return { busy, mostAtOnce };
}

test.each([0.1, 0.25, 0.5])(
  'beside a stage that computes all receivers together get small blocks one by one, for %d of the time',
  async (loadedShare) => {
    settings = { bytesPerSecond: null, loadedShare };
    expect(gate.mostBytes).toBe(64 * 1024);
    const { busy, mostAtOnce } = await send(6, 10);
    expect(mostAtOnce).toBe(1);
    // The last block's rest is still to come.
    expect((busy - 4) / (now - 4)).toBeCloseTo(loadedShare, 5);
  },
);

test('as soon as the stage rests nothing waits, and many go at once', async () => {
  await send(1, 3);
  isLoaded = false;
  const since = now;
  expect(gate.mostBytes).toBe(Number.POSITIVE_INFINITY);
  const { busy, mostAtOnce } = await send(6, 10);
  expect(mostAtOnce).toBeGreaterThan(1);
  expect(now - since).toBe(busy);
});

test('a receiver that leaves while it waits keeps nobody else waiting', async () => {
  const leave = new AbortController();
  const end = await gate.begin(1, signal);
  const left = gate.begin(1, leave.signal);
  const next = gate.begin(1, signal);
  leave.abort(new Error('gone'));
  end();
  await expect(left).rejects.toThrow('gone');
  (await next)();
});

test('under a low limit blocks are small, so that many receivers all hear something in time', async () => {
  isLoaded = false;
  settings = { bytesPerSecond: 20_000, loadedShare: 0.1 };
  expect(gate.mostBytes).toBe(2000);
  let longest = 0;
  const receiver = async (): Promise<void> => {
    for (let block = 0; block < 10; block += 1) {
      const since = now;
      (await gate.begin(gate.mostBytes, signal))();
      longest = Math.max(longest, now - since);
    }
  };
  await Promise.all(Array.from({ length: 12 }, receiver));
  expect(longest).toBeLessThan(5000);
});
