import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PipelineError } from '../pipelineError.ts';
import { greedySampling } from '../sampling/plainSampling.ts';
import type { GenerateRequest } from '../serving/servedModel.ts';
import { Pipeline, type PipelineConfig } from './pipeline.ts';
import { expectedAnswer, StagedRing } from './testing/stagedRing.ts';

const MOST_TOKENS = 4;
const config: PipelineConfig = {
  id: 'p',
  epoch: { counter: 1, coordinator: 'c' },
  stages: 2,
  slots: 6,
  sequenceLength: 64,
  chunk: 8,
  exact: false,
  rewinds: true,
  endTokens: new Set([0]),
  queueLimit: 20,
  stepDeadlineMs: 60_000,
};

/** A pipeline whose frames go round when a test says so, and what became of each request. */
class Served {
  readonly ring: StagedRing;
  readonly pipeline: Pipeline;
  readonly asked: { prompt: number[]; cached: number | null; leave: AbortController; answer: Promise<unknown> }[] = [];

  constructor(overrides: Partial<PipelineConfig> = {}) {
    this.ring = new StagedRing(overrides.stages ?? config.stages);
    this.pipeline = new Pipeline({ ...config, ...overrides }, this.ring.send);
  }

  ask(prompt: number[], more: Partial<GenerateRequest> = {}): void {
    const leave = new AbortController();
    const one = { prompt, cached: null as number | null, leave, answer: Promise.resolve() as Promise<unknown> };
    this.asked.push(one);
    const onSeated = ({ cachedTokens }: { cachedTokens: number }): void => {
      one.cached = cachedTokens;
    };
    const request = { promptTokens: prompt, maxTokens: MOST_TOKENS, sampling: greedySampling, onSeated, ...more };
    one.answer = (async () => {
      const tokens: number[] = [];
      for await (const { id } of this.pipeline.generate(request, leave.signal)) tokens.push(id);
      return tokens;
    })().catch((error: unknown) => error);
  }

  /** Frames go round until none is left, or `count` of them. */
  async go(count = Number.POSITIVE_INFINITY, faulty: number | null = null): Promise<void> {
    await settled();
    for (let round = 0; round < count; round += 1) {
      const back = this.ring.next(faulty);
      if (back === null) return;
      this.pipeline.receive(back);
      await settled();
    }
  }

  get cached(): (number | null)[] {
    return this.asked.map(({ cached }) => cached);
  }

  get copies(): { from: number; to: number; length: number }[] {
    return this.ring.frames.flatMap(({ runs }) =>
      runs.flatMap(({ slot, start, copyFrom }) =>
        copyFrom === undefined ? [] : [{ from: copyFrom.slot, to: slot, length: start }],
      ),
    );
  }

  async answers(): Promise<unknown[]> {
    expect(this.pipeline.numbers).toMatchObject({ running: 0, queued: 0 });
    return Promise.all(this.asked.map(({ answer }) => answer));
  }

  expected(): number[][] {
    return this.asked.map(({ prompt }) => expectedAnswer(prompt, MOST_TOKENS));
  }
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

const system = Array.from({ length: 40 }, (_, index) => index + 1);
const six = [1, 2, 3, 4, 5, 6].map((user) => [...system, 50 + user, 60]);

test('of six at once that begin alike one computes the beginning, and five get a copy', async () => {
  const served = new Served();
  for (const prompt of six) served.ask(prompt);
  await served.go();
  expect(await served.answers()).toEqual(served.expected());
  expect(served.cached).toEqual([0, 40, 40, 40, 40, 40]);
  expect(served.copies.map(({ length }) => length)).toEqual([40, 40, 40, 40, 40]);
  expect(served.pipeline.numbers).toMatchObject({ cachedTokens: 200, promptTokens: 42 + 5 * 2, requests: 6 });
});

test('choices of one prompt compute it once, and its last token each', async () => {
  const served = new Served({ chunk: 16 });
  for (const _ of six) served.ask([...system]);
  await served.go();
  expect(await served.answers()).toEqual(served.expected());
  expect(served.cached).toEqual([0, 39, 39, 39, 39, 39]);
});

test('a beginning is copied from a sequence whose answer is under way, answer and all', async () => {
  const served = new Served();
  served.ask(system);
  await served.go(6);
  expect(served.pipeline.numbers.running).toBe(1);
  const [first = -1] = expectedAnswer(system, 1);
  served.ask([...system, first, 9, 9]);
  await served.go();
  expect(await served.answers()).toEqual(served.expected());
  expect(served.cached).toEqual([0, 41]);
});

test('an exact ring copies whole chunks of prompts', async () => {
  const served = new Served({ exact: true, chunk: 16 });
  for (const prompt of six) served.ask(prompt);
  await served.go();
  expect(await served.answers()).toEqual(served.expected());
  expect(served.cached).toEqual([0, 32, 32, 32, 32, 32]);
});

test('a model that cannot go back, and texts that become vectors, share nothing', async () => {
  const recurrent = new Served({ rewinds: false });
  for (const prompt of six.slice(0, 2)) recurrent.ask(prompt);
  await recurrent.go();
  expect(await recurrent.answers()).toEqual(recurrent.expected());
  expect(recurrent.cached).toEqual([0, 0]);

  const served = new Served();
  const leaving = new AbortController();
  const vector = served.pipeline.embed({ tokens: system }, leaving.signal).catch(() => {});
  served.ask(system);
  await served.go();
  expect(served.copies).toEqual([]);
  leaving.abort();
  await vector;
});

test('who waits for a prompt goes on from what was sent of it where its request is cancelled', async () => {
  const served = new Served();
  for (const prompt of six) served.ask(prompt);
  await settled();
  // Three chunks of 8 are under way.
  expect(served.ring.frames.map(({ runs }) => runs[0]?.slot)).toEqual([0, 0, 0]);
  served.asked[0]?.leave.abort(new Error('gone'));
  await served.go();
  const [first, ...others] = await served.answers();
  expect(first).toEqual(new Error('gone'));
  expect(others).toEqual(served.expected().slice(1));
  expect(served.cached).toEqual([0, 24, 40, 40, 40, 40]);
});

test('where the first step of a shared prompt fails, whoever got a copy of it begins anew', async () => {
  const served = new Served({ stages: 5, chunk: 16, fixedChunk: true });
  for (const prompt of six.slice(0, 3)) served.ask(prompt);
  await settled();
  // All of the first prompt is under way, and so is what goes on from copies of it.
  expect(served.copies.length).toBeGreaterThan(0);
  await served.go(1, 3);
  await served.go();
  const [first, ...others] = await served.answers();
  expect(first).toMatchObject({ kind: 'DecodeFailed', message: expect.stringContaining('injected') });
  expect(others).toEqual(served.expected().slice(1, 3));
});

test('interactive requests wait for no bulk one, and bulk ones do for either', async () => {
  const served = new Served({ stages: 1 });
  served.ask([...system, 51, 60], { bulk: true });
  served.ask([...system, 52, 60]);
  served.ask([...system, 53, 60], { bulk: true });
  await served.go();
  expect(await served.answers()).toEqual(served.expected());
  expect(served.cached[1]).toBeLessThan(40);
  expect(served.cached[2]).toBe(40);
});

test('a conversation stays in its slot while another begins like it in an empty one', async () => {
  const served = new Served({ sequenceLength: 256, slots: 2 });
  const ask = async (prompt: number[]): Promise<void> => {
    served.ask(prompt);
    await served.go();
  };
  const long = [...system, ...new Array<number>(70).fill(7)];
  await ask(long);
  await ask([...system, 8, 8]);
  expect(served.copies).toEqual([{ from: 0, to: 1, length: 40 }]);
  // Both come back.
  const [first = [], second = []] = served.expected();
  await ask([...long, ...first, 9]);
  await ask([...system, 8, 8, ...second, 9]);
  expect(await served.answers()).toEqual(served.expected());
  // The last token of an answer was never computed.
  expect(served.cached).toEqual([0, 40, long.length + MOST_TOKENS - 1, 42 + MOST_TOKENS - 1]);
});

/** Prompts that begin alike, at lengths on both sides of what is worth a copy. */
const prompts = fc
  .tuple(
    fc.oneof(fc.constant(40), fc.integer({ min: 0, max: 40 })),
    fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
  )
  .map(([shared, rest]) => [...system.slice(0, shared), ...rest]);
const happenings = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('ask' as const), prompt: prompts, bulk: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('go' as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('cancel' as const), which: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('fault' as const), stage: fc.nat(4) }) },
);
const rings = fc.record({
  stages: fc.integer({ min: 1, max: 5 }),
  slots: fc.integer({ min: 1, max: 6 }),
  chunk: fc.constantFrom(4, 8, 16),
  exact: fc.boolean(),
  fixedChunk: fc.boolean(),
});

/**
 * The ring says what is wrong where the coordinator believes that a slot holds what it does not. Only those whose own step was
 * made to fail, or who left, may go without an answer, and every answer is that of one who is alone.
 */
test('whatever is asked, cancelled and fails in between, slots hold what they are believed to hold', async () => {
  let copies = 0;
  let faults = 0;
  await fc.assert(
    fc.asyncProperty(rings, fc.array(happenings, { maxLength: 40, size: 'max' }), async (overrides, all) => {
      const served = new Served(overrides);
      const left = new Set<number>();
      for (const one of all) {
        if (one.what === 'ask') {
          served.ask(one.prompt, { bulk: one.bulk });
          await settled();
        } else if (one.what === 'go') await served.go(one.count);
        else if (one.what === 'fault') {
          await served.go(1, one.stage % served.ring.stages.length);
          faults += 1;
        } else if (one.which < served.asked.length) {
          left.add(one.which);
          served.asked[one.which]?.leave.abort(new Error('gone'));
        }
      }
      await served.go();
      const expected = served.expected();
      for (const [index, answer] of (await served.answers()).entries()) {
        // Those who were refused never ran.
        if (!(answer instanceof Error)) expect(answer).toEqual(expected[index]);
        else if (left.has(index) && answer.message === 'gone') continue;
        else expect(answer.message).toMatch(/injected|requests are waiting/);
      }
      // Once more, from whatever lies there by now.
      for (const { prompt } of served.asked.slice(0, 10)) served.ask(prompt);
      const again = served.asked.slice(-Math.min(10, expected.length));
      await served.go();
      for (const { prompt, answer } of again) expect(await answer).toEqual(expectedAnswer(prompt, MOST_TOKENS));
      if (overrides.exact) expect(served.copies.every(({ length }) => length % overrides.chunk === 0)).toBe(true);
      copies += served.copies.length;
      served.pipeline.fail(new PipelineError('Closed', 'The test is over.'));
    }),
    { numRuns: 300 },
  );
  expect(copies).toBeGreaterThan(50);
  expect(faults).toBeGreaterThan(50);
}, 60_000);
