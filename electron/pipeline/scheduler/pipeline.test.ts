import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { RunEmbed, StepFrame } from '../../wire/generated/roomful/v1/ring.ts';
import { encodeStepFrame } from '../../wire/stepFrameCodec.ts';
import { PipelineError } from '../pipelineError.ts';
import { greedySampling } from '../sampling/plainSampling.ts';
import type { GeneratedToken, GenerateRequest } from '../serving/servedModel.ts';
import { type Drafter, Speculation } from '../speculation/speculation.ts';
import { Pipeline, type PipelineConfig } from './pipeline.ts';
import { expectedAnswer as expected, sumOf } from './testing/stagedRing.ts';

const END = 0;
const config: PipelineConfig = {
  id: 'p',
  epoch: { counter: 1, coordinator: 'c' },
  stages: 2,
  slots: 2,
  sequenceLength: 64,
  chunk: 4,
  exact: false,
  rewinds: true,
  endTokens: new Set([END]),
  queueLimit: 3,
  stepDeadlineMs: 60_000,
};

const request = (promptTokens: number[], maxTokens = 5): GenerateRequest => ({
  promptTokens,
  maxTokens,
  sampling: greedySampling,
});

/** A ring whose stages hold the KV of every slot and check what they are sent. */
class EchoRing {
  readonly frames: StepFrame[] = [];
  readonly #kv = new Map<number, { generation: number; tokens: number[] }>();
  /** What the stage that samples holds: it cuts what it rejected at once. */
  readonly #sure = new Map<number, number[]>();
  readonly pipeline: Pipeline;
  hold = false;
  stale = 0;
  copies = 0;
  /** What every stage says that a step took it, microseconds; null says nothing. */
  computeUs: ((frame: StepFrame) => number) | null = null;

  constructor(overrides: Partial<PipelineConfig> = {}, drafter: Drafter | null = null, deepest = 1) {
    const speculation = drafter && new Speculation({ drafter, most: 3, deepest, always: true });
    const send = (frame: StepFrame): void => {
      this.frames.push(frame);
      if (!this.hold) void this.#goRound(frame);
    };
    this.pipeline = new Pipeline({ ...config, ...overrides }, send, { speculation });
  }

  /** Long enough for drafts to be made meanwhile. */
  async #goRound(frame: StepFrame): Promise<void> {
    for (let turns = 0; turns < 5; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    this.answer(frame);
  }

  answer(frame: StepFrame): void {
    for (const slot of frame.closedSlots) {
      this.#kv.delete(slot);
      this.#sure.delete(slot);
    }
    expect(frame.runs.reduce((sum, { tokens }) => sum + tokens.length, 0)).toBeLessThanOrEqual(config.chunk);
    for (const { slot, generation, start, tokens, truncateTo, sample, drafts, embed, copyFrom } of frame.runs) {
      if (copyFrom !== undefined) {
        this.#copy(this.#kv.get(copyFrom.slot)?.tokens, start, (tokens) => this.#kv.set(slot, { generation, tokens }));
        this.#copy(this.#sure.get(copyFrom.slot), start, (tokens) => this.#sure.set(slot, tokens));
        this.copies += 1;
      }
      const kv = this.#kv.get(slot) ?? { generation, tokens: [] };
      expect(generation).toBeGreaterThanOrEqual(kv.generation);
      kv.generation = generation;
      // A stage that does not sample still holds what was rejected.
      if (truncateTo !== undefined) kv.tokens.length = Math.min(kv.tokens.length, truncateTo);
      expect(start).toBe(kv.tokens.length);
      kv.tokens.push(...tokens);
      this.#kv.set(slot, kv);
      if (embed === RunEmbed.RUN_EMBED_SUM) {
        const position = start + tokens.length;
        const sums = [tokens, tokens.map((_, index) => start + index)];
        const hidden = sums.map((each) => each.reduce((sum, value) => sum + value, 0));
        frame.committed.push({ slot, generation, position, tokens: [], logprobs: [], failure: undefined, hidden });
      }
      const held = (this.#sure.get(slot) ?? []).slice(0, truncateTo);
      this.#sure.set(slot, held);
      if (drafts > 0 && drafts === tokens.length && (held.length !== start || sumOf(held) !== tokens[0])) {
        this.stale += 1;
        continue;
      }
      expect(held).toHaveLength(start);
      held.push(...(sample ? tokens.slice(0, Math.max(1, tokens.length - drafts)) : tokens));
      if (!sample) continue;
      const position = held.length;
      const sampled: number[] = [];
      for (let at = position - start; ; at += 1) {
        const token = sumOf(held);
        sampled.push(token);
        if (at === tokens.length || tokens[at] !== token) break;
        held.push(token);
      }
      const nothing = { logprobs: [], failure: undefined, hidden: [] };
      frame.committed.push({ slot, generation, position, tokens: sampled, ...nothing });
    }
    if (this.computeUs !== null) {
      const took = { computeUs: this.computeUs(frame), queueUs: 0, sentBytes: 0, wayUs: undefined };
      frame.timings.push(...Array.from({ length: config.stages }, (_, stage) => ({ stage, ...took })));
    }
    this.pipeline.receive(frame);
  }

  #copy(from: readonly number[] | undefined, length: number, take: (tokens: number[]) => void): void {
    expect(from?.length).toBeGreaterThanOrEqual(length);
    take((from ?? []).slice(0, length));
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

test('what one row takes alone is measured from single rows that travel while nothing else does', async () => {
  const lone = (ring: EchoRing) => ring.pipeline.numbers.stages.map(({ loneMs }) => loneMs);
  const endless = { endTokens: new Set<number>(), chunk: 4 };
  const alone = new EchoRing(endless);
  // Chunks of prompts take longer, and are no single rows.
  alone.computeUs = ({ runs }) => (runs[0]?.tokens.length === 1 ? 2500 : 90_000);
  await collect(alone.pipeline.generate(request([1, 2, 3, 4, 5, 6, 7], 15), never));
  expect(lone(alone)).toEqual([null, null]);
  await collect(alone.pipeline.generate(request([9, 8, 7, 6, 5, 4, 3], 40), never));
  expect(lone(alone)).toEqual([2.5, 2.5]);

  const together = new EchoRing(endless);
  together.computeUs = () => 2500;
  const prompts = [
    [1, 2, 3],
    [4, 5, 6],
  ];
  await Promise.all(prompts.map((prompt) => collect(together.pipeline.generate(request(prompt, 50), never))));
  expect(lone(together)).toEqual([null, null]);
});

test('embeddings of several chunks are those of every token once, beside answers and in seats that were used', async () => {
  const ring = new EchoRing({ queueLimit: 10 });
  const text = Array.from({ length: 30 }, (_, index) => index + 1);
  await collect(ring.pipeline.generate(request(text), never));
  const embeddings = await Promise.all([1, 2, 3].map(() => ring.pipeline.embed({ tokens: text }, never)));
  // The ring's hidden state of a token is the token and its position.
  for (const embedding of embeddings) expect([...embedding]).toEqual([15.5, 14.5]);
  expect(await collect(ring.pipeline.generate(request(text), never))).toEqual(expected(text, 5));
  expect(ring.pipeline.numbers).toMatchObject({ running: 0, queued: 0 });
});

/** Right so often, and late. */
const drafterOf = (right: (position: number) => boolean): Drafter => ({
  draftMs: 0,
  propose: async ({ log, count }) => {
    await new Promise((resolve) => setImmediate(resolve));
    return expected([...log], count).map((token, index) => (right(log.length + index) ? token : token + 1));
  },
  prepare: () => {},
  forget: () => {},
});

test('with drafts of any quality, and requests that begin alike, the tokens are the same', async () => {
  const prompt = fc
    .tuple(fc.integer({ min: 0, max: 30 }), fc.array(fc.constantFrom(1, 2), { minLength: 1, maxLength: 10 }))
    .map(([shared, rest]) => [...new Array<number>(shared).fill(1), ...rest]);
  const prompts = fc.array(prompt, { minLength: 1, maxLength: 6 });
  const quality = fc.array(fc.boolean(), { minLength: 1, maxLength: 9 });
  let stale = 0;
  let copies = 0;
  await fc.assert(
    fc.asyncProperty(
      prompts,
      quality,
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 4 }),
      async (all, rights, maxTokens, deepest) => {
        const ring = new EchoRing(
          { queueLimit: 10 },
          drafterOf((position) => rights[position % rights.length] ?? true),
          deepest,
        );
        const answers = await Promise.all(
          all.map((prompt) => collect(ring.pipeline.generate(request(prompt, maxTokens), never))),
        );
        expect(answers).toEqual(all.map((prompt) => expected(prompt, maxTokens)));
        stale += ring.stale;
        copies += ring.copies;
      },
    ),
    { numRuns: 100 },
  );
  expect(stale).toBeGreaterThan(0);
  expect(copies).toBeGreaterThan(0);
});

test('drafts that are right save steps, and are counted', async () => {
  const plain = new EchoRing();
  const drafted = new EchoRing(
    {},
    drafterOf(() => true),
  );
  for (const ring of [plain, drafted])
    expect(await collect(ring.pipeline.generate(request([1, 2], 13), never))).toEqual(expected([1, 2], 13));
  expect(plain.frames).toHaveLength(13);
  expect(drafted.frames).toHaveLength(4);
  expect(drafted.pipeline.numbers).toMatchObject({ draftedTokens: 9, acceptedTokens: 9, generatedTokens: 13 });
});

test('guesses travel on top of guesses, and come to nothing where one is wrong', async () => {
  const deep = new EchoRing(
    {},
    drafterOf(() => true),
    4,
  );
  deep.hold = true;
  const answer = collect(deep.pipeline.generate(request([1, 2], 14), never));
  await vi.waitFor(() => expect(deep.frames).toHaveLength(1));
  deep.answer(deep.frames[0] ?? StepFrame.fromPartial({}));
  // The first step verifies three, and three more of three follow without waiting: all that there is room for but the last.
  await vi.waitFor(() => expect(deep.frames).toHaveLength(5));
  expect(deep.frames.map(({ runs }) => [runs[0]?.start, runs[0]?.tokens.length, runs[0]?.drafts])).toEqual([
    [0, 2, 0],
    [2, 4, 3],
    [6, 3, 3],
    [9, 3, 3],
    [12, 3, 3],
  ]);
  for (const frame of deep.frames.slice(1)) deep.answer(frame);
  expect(await answer).toEqual(expected([1, 2], 14));
  expect(deep.stale).toBe(0);

  const wrong = new EchoRing(
    {},
    drafterOf((position) => position !== 4),
    3,
  );
  expect(await collect(wrong.pipeline.generate(request([1, 2], 14), never))).toEqual(expected([1, 2], 14));
  expect(wrong.stale).toBeGreaterThan(0);
  const cut = wrong.frames.find(({ runs }) => runs[0]?.truncateTo !== undefined);
  expect(cut?.runs[0]).toMatchObject({ start: 4, truncateTo: 4 });
});

test('a second request that goes on from the first computes what is new', async () => {
  const ring = new EchoRing();
  const prompt = Array.from({ length: 30 }, (_, index) => index + 1);
  const answer = await collect(ring.pipeline.generate(request(prompt, 6), never));
  const seated: number[] = [];
  const longer = [...prompt, ...answer, 3, 4];
  const again = { ...request(longer, 4), onSeated: (now: { cachedTokens: number }) => seated.push(now.cachedTokens) };
  expect(await collect(ring.pipeline.generate(again, never))).toEqual(expected(longer, 4));
  // The last token of the first answer was never computed.
  expect(seated).toEqual([prompt.length + answer.length - 1]);
  expect(ring.pipeline.numbers).toMatchObject({ cachedTokens: 35, promptTokens: 30 + 3 });
});

test('a model that cannot go back starts every request anew, without drafts', async () => {
  const ring = new EchoRing(
    { rewinds: false },
    drafterOf(() => true),
  );
  const prompt = Array.from({ length: 30 }, (_, index) => index + 1);
  for (const _ of [0, 1])
    expect(await collect(ring.pipeline.generate(request(prompt, 6), never))).toEqual(expected(prompt, 6));
  expect(ring.pipeline.numbers).toMatchObject({ cachedTokens: 0, draftedTokens: 0 });
  await vi.waitFor(() => expect(ring.liveSlots).toBe(0));
});

test('bulk requests wait behind interactive ones', async () => {
  const ring = new EchoRing({ slots: 1, queueLimit: 9 });
  const order: string[] = [];
  const one = async (name: string, bulk: boolean): Promise<void> => {
    await collect(ring.pipeline.generate({ ...request([1, 2], 2), bulk }, never));
    order.push(name);
  };
  await Promise.all([one('first', false), one('bulk', true), one('second', false), one('third', false)]);
  expect(order).toEqual(['first', 'second', 'third', 'bulk']);
});

test('an end token ends the answer and is yielded', async () => {
  const ring = new EchoRing({ endTokens: new Set([expected([3, 4], 3)[2] ?? -1]) });
  expect(await collect(ring.pipeline.generate(request([3, 4], 20), never))).toEqual(expected([3, 4], 3));
});

test('an abort frees the seat at once for a request that waits, and nothing of it travels any more', async () => {
  const ring = new EchoRing({ slots: 1 });
  const abort = new AbortController();
  const tokens = ring.pipeline.generate(request([1, 2, 3], 50), abort.signal);
  await tokens.next();
  abort.abort(new Error('client gone'));
  await expect(collect(tokens)).rejects.toThrow('client gone');
  const sent = ring.frames.length;
  expect(await collect(ring.pipeline.generate(request([4]), never))).toEqual(expected([4], 5));
  for (const { runs } of ring.frames.slice(sent)) expect(runs.map(({ generation }) => generation)).toEqual([2]);
});

test('leaving the loop early frees the seat too', async () => {
  const ring = new EchoRing({ slots: 1 });
  for await (const _ of ring.pipeline.generate(request([1, 2], 50), never)) break;
  expect(await collect(ring.pipeline.generate(request([1, 2]), never))).toEqual(expected([1, 2], 5));
});

test('requests beyond the seats wait, and beyond the queue are refused', async () => {
  const ring = new EchoRing({ queueLimit: 1 });
  const one = collect(ring.pipeline.generate(request([1]), never));
  const two = collect(ring.pipeline.generate(request([2]), never));
  const three = collect(ring.pipeline.generate(request([3]), never));
  const four = collect(ring.pipeline.generate(request([4]), never));
  await expect(four).rejects.toMatchObject({ kind: 'QueueFull', retryAfter: 1 });
  expect(await Promise.all([one, two, three])).toEqual([[1], [2], [3]].map((prompt) => expected(prompt, 5)));
});

test('bytes of frames count at the ends that cross to another member, and only there', async () => {
  for (const [entry, exit] of [
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ] as const) {
    const ring = new EchoRing({ slots: 1, crosses: { entry, exit } });
    const back = vi.spyOn(ring.pipeline, 'receive');
    await collect(ring.pipeline.generate(request([1, 2, 3, 4, 5, 6]), never));
    // The ring writes its answers into the same frames.
    const asSent = (frame: StepFrame): StepFrame => ({ ...frame, committed: [], timings: [], failure: undefined });
    const sent = ring.frames.reduce((sum, frame) => sum + encodeStepFrame(asSent(frame)).length, 0);
    const came = back.mock.calls.reduce((sum, [frame]) => sum + encodeStepFrame(frame).length, 0);
    expect(came).toBeGreaterThan(0);
    const { entryBytes, exitBytes } = ring.pipeline.numbers;
    expect([entryBytes, exitBytes]).toEqual([entry ? sent : 0, exit ? came : 0]);
  }
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

test('who goes on from what a failed step did not leave begins anew, and gets the same tokens', async () => {
  const ring = new EchoRing({ slots: 1, stages: 4 });
  const prompt = Array.from({ length: 12 }, (_, index) => index + 1);
  ring.hold = true;
  const leaving = new AbortController();
  const first = collect(ring.pipeline.generate(request(prompt), leaving.signal)).catch((error: unknown) => error);
  await vi.waitFor(() => expect(ring.frames).toHaveLength(3));
  const lost = ring.frames.splice(0);
  leaving.abort(new Error('client gone'));
  const second = collect(ring.pipeline.generate(request([...prompt, 50], 3), never));
  await vi.waitFor(() => expect(ring.frames).toHaveLength(1));
  const [next] = ring.frames;
  if (next === undefined) throw new Error('the second has been sent');
  // It goes on from the twelve tokens of the first that were sent.
  expect(next.runs[0]?.start).toBe(12);
  ring.hold = false;
  const failure = { stage: 1, kind: 'DecodeFailed', message: 'out of KV' };
  for (const frame of [...lost, next]) ring.pipeline.receive({ ...frame, runs: [], failure });
  expect(await second).toEqual(expected([...prompt, 50], 3));
  expect(await first).toEqual(new Error('client gone'));
  expect(ring.frames[1]?.runs[0]).toMatchObject({ start: 0, truncateTo: 0, generation: 3 });
});

test('a prompt that leaves no room for an answer is refused, whoever asks', async () => {
  const { pipeline } = new EchoRing();
  const prompt = (length: number) => Array.from({ length }, () => 1);
  await expect(collect(pipeline.generate(request(prompt(64)), never))).rejects.toMatchObject({ kind: 'BadPrompt' });
  await expect(collect(pipeline.generate(request([]), never))).rejects.toMatchObject({ kind: 'BadPrompt' });
  expect(await collect(pipeline.generate(request(prompt(63)), never))).toEqual(expected(prompt(63), 1));
});

test('what only frees a slot is no decode under way: the next one need not wait for it', async () => {
  const ring = new EchoRing({ rewinds: false });
  ring.hold = true;
  const leaving = new AbortController();
  const first = collect(ring.pipeline.generate(request([1]), leaving.signal)).catch(() => {});
  await vi.waitFor(() => expect(ring.frames).toHaveLength(1));
  ring.answer(ring.frames[0] ?? StepFrame.fromPartial({}));
  leaving.abort(new Error('gone'));
  await first;
  await vi.waitFor(() => expect(ring.frames.at(-1)?.closedSlots).toEqual([0]));
  // The bookkeeping is held back: one step of the other sequence travels all the same, and then the next.
  const second = collect(ring.pipeline.generate(request([5], 3), never));
  for (let sent = ring.frames.length; ring.frames.length < sent + 2; ) {
    const frame = ring.frames.at(-1);
    if (frame !== undefined && frame.runs.length > 0) ring.answer(frame);
    await new Promise((resolve) => setImmediate(resolve));
  }
  ring.hold = false;
  const last = ring.frames.at(-1);
  if (last !== undefined) ring.answer(last);
  expect(await second).toEqual(expected([5], 3));
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
  const pipeline = new Pipeline({ ...config, stepDeadlineMs: 5000 }, () => {}, { now: () => now });
  const answer = collect(pipeline.generate(request([1]), never));
  const outcome = expect(answer).rejects.toMatchObject({ kind: 'StepDeadline' });
  now = 5001;
  await vi.advanceTimersByTimeAsync(1000);
  await outcome;
});
