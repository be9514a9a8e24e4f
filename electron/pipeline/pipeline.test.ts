import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import type { StepFrame } from '../wire/generated/roomful/v1/ring.ts';
import { Pipeline, type PipelineConfig } from './pipeline.ts';
import { PipelineError } from './pipelineError.ts';
import { greedySampling } from './plainSampling.ts';
import type { GeneratedToken, GenerateRequest } from './servedModel.ts';

const END = 0;
const config: PipelineConfig = {
  id: 'p',
  epoch: { counter: 1, coordinator: 'c' },
  stages: 2,
  slots: 2,
  sequenceLength: 64,
  chunk: 4,
  exact: false,
  endTokens: new Set([END]),
  queueLimit: 3,
  stepDeadlineMs: 60_000,
};

const request = (promptTokens: number[], maxTokens = 5): GenerateRequest => ({
  promptTokens,
  maxTokens,
  sampling: greedySampling,
});

/** What a model that adds one to the sum of all tokens so far (mod 97) would say: never the end token. */
function expected(promptTokens: number[], count: number): number[] {
  const log = [...promptTokens];
  for (let i = 0; i < count; i += 1) log.push((log.reduce((sum, token) => sum + token, 1) % 97) + 1);
  return log.slice(promptTokens.length);
}

/** A ring whose stages hold the KV of every slot and check what they are sent. */
class EchoRing {
  readonly frames: StepFrame[] = [];
  readonly #kv = new Map<number, { generation: number; tokens: number[] }>();
  readonly pipeline: Pipeline;
  hold = false;

  constructor(overrides: Partial<PipelineConfig> = {}) {
    this.pipeline = new Pipeline({ ...config, ...overrides }, (frame) => {
      this.frames.push(frame);
      if (!this.hold) setImmediate(() => this.answer(frame));
    });
  }

  answer(frame: StepFrame): void {
    for (const slot of frame.closedSlots) this.#kv.delete(slot);
    for (const run of frame.runs) {
      const kv = this.#kv.get(run.slot) ?? { generation: run.generation, tokens: [] };
      expect(run.generation).toBe(kv.generation);
      expect(run.start).toBe(kv.tokens.length);
      kv.tokens.push(...run.tokens);
      this.#kv.set(run.slot, kv);
      if (!run.sample) continue;
      const token = (kv.tokens.reduce((sum, value) => sum + value, 1) % 97) + 1;
      const { slot, generation } = run;
      const committed = {
        slot,
        generation,
        position: kv.tokens.length,
        tokens: [token],
        logprobs: [],
        failure: undefined,
      };
      frame.committed.push(committed);
    }
    this.pipeline.receive(frame);
  }

  get liveSlots(): number {
    return this.#kv.size;
  }
}

async function collect(tokens: AsyncIterable<GeneratedToken>): Promise<number[]> {
  const all: number[] = [];
  for await (const { id } of tokens) all.push(id);
  return all;
}

const never = new AbortController().signal;

afterEach(() => void vi.useRealTimers());

test('any number of requests at once get the tokens that each would get alone', async () => {
  const prompts = fc.array(fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 20 }), {
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(prompts, fc.integer({ min: 1, max: 6 }), async (all, maxTokens) => {
      const ring = new EchoRing({ queueLimit: 10 });
      const answers = await Promise.all(
        all.map((prompt) => collect(ring.pipeline.generate(request(prompt, maxTokens), never))),
      );
      expect(answers).toEqual(all.map((prompt) => expected(prompt, maxTokens)));
    }),
    { numRuns: 50 },
  );
});

test('an end token ends the answer and is yielded', async () => {
  const ring = new EchoRing({ endTokens: new Set([expected([3, 4], 3)[2] ?? -1]) });
  expect(await collect(ring.pipeline.generate(request([3, 4], 20), never))).toEqual(expected([3, 4], 3));
});

test('an abort frees the seat on the stages within one step, or alone when none is due', async () => {
  const ring = new EchoRing();
  const abort = new AbortController();
  const tokens = ring.pipeline.generate(request([1, 2, 3], 50), abort.signal);
  await tokens.next();
  abort.abort(new Error('client gone'));
  await expect(collect(tokens)).rejects.toThrow('client gone');
  await vi.waitFor(() => expect(ring.liveSlots).toBe(0));
  const closing = ring.frames.filter((frame) => frame.closedSlots.length > 0);
  expect(closing.map((frame) => frame.closedSlots)).toEqual([[0]]);
});

test('leaving the loop early frees the seat too', async () => {
  const ring = new EchoRing();
  for await (const _ of ring.pipeline.generate(request([1, 2], 50), never)) break;
  await vi.waitFor(() => expect(ring.liveSlots).toBe(0));
});

test('requests beyond the seats wait, and beyond the queue are refused', async () => {
  const ring = new EchoRing({ queueLimit: 1 });
  const one = collect(ring.pipeline.generate(request([1]), never));
  const two = collect(ring.pipeline.generate(request([2]), never));
  const three = collect(ring.pipeline.generate(request([3]), never));
  const four = collect(ring.pipeline.generate(request([4]), never));
  await expect(four).rejects.toMatchObject({ kind: 'QueueFull' });
  expect(await Promise.all([one, two, three])).toEqual([[1], [2], [3]].map((prompt) => expected(prompt, 5)));
});

test('a token is committed once, whatever comes back twice or late', async () => {
  const ring = new EchoRing();
  const tokens = collect(ring.pipeline.generate(request([5, 6], 4), never));
  await vi.waitFor(() => expect(ring.frames.length).toBeGreaterThan(1));
  for (const frame of ring.frames) ring.pipeline.receive(frame);
  expect(await tokens).toEqual(expected([5, 6], 4));
});

test('a step that fails ends its own request with the reason and no other', async () => {
  const ring = new EchoRing();
  ring.hold = true;
  const bad = collect(ring.pipeline.generate(request([1, 2]), never));
  const good = collect(ring.pipeline.generate(request([7]), never));
  bad.catch(() => {});
  await vi.waitFor(() => expect(ring.frames).toHaveLength(2));
  ring.hold = false;
  const [first, second] = ring.frames;
  if (first === undefined || second === undefined) throw new Error('two steps were sent');
  ring.pipeline.receive({ ...first, failure: { stage: 1, kind: 'DecodeFailed', message: 'out of KV' } });
  ring.answer(second);
  await expect(bad).rejects.toThrow('Stage 1 could not compute: out of KV');
  expect(await good).toEqual(expected([7], 5));
});

test('a lost stage ends every request, running or waiting, and refuses new ones', async () => {
  const ring = new EchoRing();
  ring.hold = true;
  const all = [[1], [2], [3]].map((prompt) => collect(ring.pipeline.generate(request(prompt), never)));
  const lost = new PipelineError('StageLost', 'Stage 1 on bob was lost.');
  setImmediate(() => ring.pipeline.fail(lost));
  const ends = await Promise.allSettled(all);
  expect(ends.map((end) => end.status === 'rejected' && end.reason)).toEqual([lost, lost, lost]);
  await expect(collect(ring.pipeline.generate(request([4]), never))).rejects.toBe(lost);
});

test('a step that never comes back ends the pipeline at its deadline', async () => {
  vi.useFakeTimers();
  let now = 0;
  const pipeline = new Pipeline(
    { ...config, stepDeadlineMs: 5000 },
    () => {},
    () => now,
  );
  const answer = collect(pipeline.generate(request([1]), never));
  const outcome = expect(answer).rejects.toMatchObject({ kind: 'StepDeadline' });
  now = 5001;
  await vi.advanceTimersByTimeAsync(1000);
  await outcome;
});
