import { expect, test, vi } from 'vitest';
import type { DraftModel } from '../../stage/engineClient.ts';
import { greedySampling } from '../sampling/plainSampling.ts';
import { ModelDrafter } from './modelDrafter.ts';

type Asked = Parameters<DraftModel['draft']>[0];

/** Says that n is followed by n + 1, when it is let. */
class CountingModel implements DraftModel {
  readonly asked: { slot: number; start: number; tokens: number[] }[] = [];
  fails = false;
  hold: Promise<void> = Promise.resolve();

  async draft({ slot, start, tokens, count }: Asked): Promise<Int32Array> {
    this.asked.push({ slot, start, tokens: [...tokens] });
    await this.hold;
    if (this.fails) throw new Error('out of memory');
    const last = tokens.at(-1) ?? 0;
    return Int32Array.from({ length: count }, (_, index) => last + 1 + index);
  }

  async close(): Promise<void> {}
}

const ask = (sequence: number, log: number[], count = 2) => ({
  sequence,
  log,
  promptLength: 1,
  count,
  sampling: greedySampling,
});

function drafterOf(model: DraftModel, slots = 1): { drafter: ModelDrafter; problems: unknown[] } {
  const problems: unknown[] = [];
  const onProblem = (cause: unknown): void => void problems.push(cause);
  return { drafter: new ModelDrafter(model, { slots, sequenceLength: 100, onProblem }), problems };
}

test('a sequence goes on from what its slot holds, drafts that were rejected aside', async () => {
  const model = new CountingModel();
  const { drafter } = drafterOf(model);
  expect(await drafter.propose(ask(1, [5, 6]))).toEqual([7, 8]);
  expect(await drafter.propose(ask(1, [5, 6, 7, 8, 9]))).toEqual([10, 11]);
  expect(await drafter.propose(ask(1, [5, 6, 7, 8, 9, 30]))).toEqual([31, 32]);
  expect(model.asked).toEqual([
    { slot: 0, start: 0, tokens: [5, 6] },
    { slot: 0, start: 3, tokens: [8, 9] },
    { slot: 0, start: 5, tokens: [30] },
  ]);
});

test('a sequence that leaves while it waits for its turn takes no slot with it', async () => {
  const model = new CountingModel();
  const { drafter } = drafterOf(model);
  let release: () => void = () => {};
  model.hold = new Promise((resolve) => {
    release = resolve;
  });
  const first = drafter.propose(ask(1, [5]));
  const second = drafter.propose(ask(2, [6]));
  await vi.waitFor(() => expect(model.asked).toHaveLength(1));
  drafter.forget(2);
  drafter.forget(1);
  release();
  expect(await first).toEqual([6, 7]);
  expect(await second).toEqual([]);
  expect(await drafter.propose(ask(3, [8]))).toEqual([9, 10]);
  expect(model.asked).toHaveLength(2);
});

test('a long log is read in the background, part by part, and nobody waits for it', async () => {
  const model = new CountingModel();
  const { drafter } = drafterOf(model, 2);
  const long = Array.from({ length: 90 }, (_, index) => index + 100);
  drafter.prepare(1, long.slice(0, 80));
  expect(await drafter.propose(ask(1, long))).toEqual([]);
  // Others come between its parts.
  expect(await drafter.propose(ask(2, [5, 6]))).toEqual([7, 8]);
  await vi.waitFor(async () => expect(await drafter.propose(ask(1, long))).toEqual([190, 191]));
  expect(model.asked.map(({ slot, start, tokens }) => [slot, start, tokens.length])).toEqual([
    [0, 0, 64],
    [1, 0, 2],
    [0, 64, 25],
    [0, 89, 1],
  ]);
});

test('a model that fails is told once, and left alone for a while', async () => {
  const model = new CountingModel();
  const { drafter, problems } = drafterOf(model);
  model.fails = true;
  for (const _ of [0, 1, 2]) expect(await drafter.propose(ask(1, [5]))).toEqual([]);
  expect(problems).toEqual([new Error('out of memory')]);
  expect(model.asked).toHaveLength(1);
});

test('without a slot, or room in it, there are no drafts', async () => {
  const { drafter } = drafterOf(new CountingModel());
  expect(await drafter.propose(ask(1, [5]))).toHaveLength(2);
  expect(await drafter.propose(ask(2, [6]))).toEqual([]);
  expect(
    await drafter.propose(
      ask(
        1,
        Array.from({ length: 99 }, () => 5),
      ),
    ),
  ).toEqual([]);
});
