import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { greedySampling } from '../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import type { GeneratedToken, GenerateRequest } from '../electron/pipeline/serving/servedModel.ts';
import type { Run } from '../electron/wire/generated/roomful/v1/ring.ts';
import { talkativeModel } from './models/talkativeModel.ts';
import { RingWatch } from './testing/ringWatch.ts';
import { TestRoom } from './testing/testRoom.ts';

const CHUNK = 32;
/** Requests that may wait for a seat. */
const QUEUE = 64;
const sizes = { contextLength: 4096, chunk: CHUNK, mostDrafts: 0 };
const overTwo = { force: 'cluster', policy: 'proportional' } as const;

let folder: string;
let room: TestRoom;
let modelPath: string;
let model: ServingModel;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-steps-'));
  modelPath = await talkativeModel(folder);
  room = await TestRoom.open([0, 1].map(() => ({ memoryBytes: 600_000_000 })));
}, 180_000);
afterAll(async () => {
  await room.close();
  await rm(folder, { recursive: true, force: true });
});

function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const text = JSON.stringify({ model: model.id, ...body });
  return fetch(`${room.lead.gateway}${path}`, { method: 'POST', headers, body: text, ...(signal && { signal }) });
}

/** So that an answer goes on for as long as it may. */
const endless = () => [...model.endTokens].map((token) => [token, -100] as const);

describe.each([false, true])('steps of two stages, exact: %s', (exact) => {
  let watch: RingWatch;
  beforeAll(async () => {
    model = await room.serve({ ...sizes, ...overTwo, modelPath, exact, slots: 2 });
    expect(model.placement).toHaveLength(2);
  }, 120_000);
  afterAll(() => room.lead.models.stop(model.id));
  beforeEach(() => {
    watch = new RingWatch();
  });
  afterEach(() => watch.close());

  it('those of an interactive request go before those of bulk ones that wait, and beyond the queue nobody waits', async () => {
    const numbers = () => room.lead.models.numbers().at(-1)?.numbers;
    const leaving = new AbortController();
    const logit_bias = Object.fromEntries(endless());
    const talk = (seed: number, signal?: AbortSignal) =>
      post('/v1/completions', { prompt: 'Talk', stream: true, max_tokens: 4000, seed, logit_bias }, signal);
    const one = (seed: number, fields: object = {}) =>
      post('/v1/completions', { prompt: `Say ${seed}`, max_tokens: 1, seed, ...fields });
    const BULK = 1000;
    const INTERACTIVE = 3;

    watch.hold();
    const talking = [talk(1, leaving.signal), talk(2)].map((asked) => asked.catch(() => null));
    await vi.waitUntil(() => numbers()?.running === 2, { timeout: 30_000 });
    const bulk = Array.from({ length: QUEUE - 1 }, (_, at) => one(BULK + at, { service_tier: 'flex' }));
    await vi.waitUntil(() => numbers()?.queued === QUEUE - 1, { timeout: 30_000 });
    const interactive = one(INTERACTIVE);
    await vi.waitUntil(() => numbers()?.queued === QUEUE, { timeout: 30_000 });
    for (const fields of [{}, { service_tier: 'flex' }]) {
      const { status, headers } = await one(4, fields);
      expect(status).toBe(429);
      // Seconds, by what it has measured.
      expect(headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    }
    watch.release();
    leaving.abort();
    const answers = await Promise.all([interactive, ...bulk]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));

    const begun = watch.events.flatMap(({ what, runs }) =>
      runs.flatMap(({ sampling }) => (what === 'sent' && sampling !== undefined ? [sampling.seed] : [])),
    );
    expect(new Set(begun.slice(0, 2))).toEqual(new Set([1, 2]));
    expect(begun[2]).toBe(INTERACTIVE);
    expect(begun.slice(3).sort((a, b) => a - b)).toEqual(bulk.map((_, at) => BULK + at));
    const [, other] = await Promise.all(talking);
    await other?.body?.cancel();
    await vi.waitUntil(() => numbers()?.running === 0, { timeout: 30_000 });
  }, 90_000);

  it('of a running answer wait for one chunk of a long prompt at most', async () => {
    const long = prompt(600, 900);
    const running = await answering([500, 501]);
    const answer = answering(long);
    await answer;

    const { events } = watch;
    const isChunk = ofPrompt(long);
    const isDecode = ofPrompt([500, 501]);
    let chunksUnderWay = 0;
    let chunks = 0;
    let sinceDecode = 0;
    let decodes = 0;
    for (const { what, runs } of events) {
      const chunk = runs.some((run) => isChunk(run) && run.tokens.length > 1);
      if (chunk) chunksUnderWay += what === 'sent' ? 1 : -1;
      expect(chunksUnderWay).toBeLessThanOrEqual(1);
      if (what === 'back') continue;
      if (chunk) {
        expect(runs).toHaveLength(1);
        chunks += 1;
        sinceDecode += 1;
      }
      if (runs.some(isDecode)) {
        sinceDecode = 0;
        if (chunks > 0 && chunks < long.length / CHUNK) decodes += 1;
      }
      expect(sinceDecode).toBeLessThanOrEqual(1);
    }
    expect(chunks).toBe(Math.ceil(long.length / CHUNK));
    expect(decodes).toBeGreaterThanOrEqual(chunks - 1);
    await Promise.all([running.leave(), (await answer).leave()]);
  }, 60_000);

  it('have nothing more of a cancelled request, in its prompt or in its answer', async () => {
    const stays = await answering([510, 511]);
    const leaves = await answering([520, 521]);
    await withoutMore(leaves, [520, 521]);
    const long = prompt(600, 930);
    const third = watch.sent((run) => run.tokens[0] === long[2 * CHUNK] && run.start === 2 * CHUNK);
    const reading = answer(long);
    const first = reading.tokens.next();
    await third;
    const gone = expect(first).rejects.toThrow('gone');
    await withoutMore(reading, long);
    await gone;
    await stays.leave();

    async function withoutMore({ abort, leave }: Answer, asked: readonly number[]): Promise<void> {
      const isIts = ofPrompt(asked);
      expect(watch.underWay.filter(isIts).length).toBeLessThanOrEqual(1);
      const before = watch.events.length;
      abort.abort(new Error('gone'));
      for (let more = 0; more < 20; more += 1) await stays.tokens.next();
      const after = watch.events.slice(before).filter(({ what }) => what === 'sent');
      expect(after.length).toBeGreaterThan(10);
      expect(after.flatMap(({ runs }) => runs).filter(isIts)).toEqual([]);
      await leave();
    }
  }, 60_000);

  /** Runs of the seat that a request has which no other of this file begins like. */
  function ofPrompt(asked: readonly number[]): (run: Run) => boolean {
    const runs = watch.events.flatMap(({ runs }) => runs);
    const first = runs.find(({ start, tokens }) => start === 0 && tokens[0] === asked[0]);
    if (first === undefined) throw new Error(`nothing was sent of what begins with ${asked[0]}`);
    return ({ slot, generation }) => slot === first.slot && generation === first.generation;
  }
});

/** No two that begin with different tokens begin alike. */
function prompt(length: number, first: number): number[] {
  return Array.from({ length }, (_, at) => (at === 0 ? first : 300 + ((at * 37) % 500)));
}

interface Answer {
  tokens: AsyncIterator<GeneratedToken>;
  abort: AbortController;
  leave: () => Promise<unknown>;
}

function answer(promptTokens: readonly number[]): Answer {
  const abort = new AbortController();
  const sampling = { ...greedySampling, logitBias: endless() };
  const request: GenerateRequest = { promptTokens, maxTokens: 3000, sampling };
  const tokens = model.generate(request, abort.signal)[Symbol.asyncIterator]();
  return { tokens, abort, leave: async () => tokens.return?.() };
}

/** One of which five tokens have come. */
async function answering(promptTokens: readonly number[]): Promise<Answer> {
  const answered = answer(promptTokens);
  for (let count = 0; count < 5; count += 1) await answered.tokens.next();
  return answered;
}

const choicesSchema = z.object({
  choices: z.array(
    z.object({ message: z.object({ content: z.string() }), logprobs: z.unknown(), finish_reason: z.string() }),
  ),
});
type Choices = z.infer<typeof choicesSchema>['choices'];

describe('an answer, however it is sampled,', () => {
  const messages = [{ role: 'user', content: 'Say what you like, but say it at length. '.repeat(6) }];
  /** Few tokens are likely, so that what punishes repetition changes something. */
  const likely = Object.fromEntries([77, 178, 279, 380, 481, 582].map((token) => [token, 6]));
  const plain = { messages, temperature: 0.9, seed: 7, max_tokens: 24, logit_bias: likely, logprobs: true };
  const schema = {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 6 }, ages: { type: 'array', items: { type: 'integer' } } },
    required: ['name', 'ages'],
    additionalProperties: false,
  };
  const cases: Record<string, object> = {
    seeded: {},
    'of another seed': { seed: 8 },
    greedy: { temperature: 0 },
    hotter: { temperature: 1.8 },
    top_k: { top_k: 2 },
    top_p: { top_p: 0.3 },
    min_p: { min_p: 0.5 },
    repetition_penalty: { repetition_penalty: 1.8 },
    frequency_penalty: { frequency_penalty: 1.9 },
    presence_penalty: { presence_penalty: 2 },
    logit_bias: { logit_bias: { ...likely, 77: -100, 178: 8 } },
    logprobs: { top_logprobs: 5, seed: 9 },
    choices: { n: 3, seed: 10 },
    'json schema': {
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema } },
      logit_bias: {},
    },
    grammar: { grammar: 'root ::= ("yes" | "no" | "maybe") (" " [a-z]+)+', logit_bias: {} },
    together: { temperature: 1.2, top_k: 50, top_p: 0.95, min_p: 0.01, repetition_penalty: 1.1, presence_penalty: 0.5 },
  };

  async function answers(): Promise<Record<string, Choices>> {
    const asked = Object.entries(cases).map(async ([name, fields]) => {
      const answer = await post('/v1/chat/completions', { ...plain, ...fields });
      const body: unknown = await answer.json();
      expect([name, answer.status, body]).toEqual([name, 200, body]);
      return [name, choicesSchema.parse(body).choices] as const;
    });
    return Object.fromEntries(await Promise.all(asked));
  }

  it('is the same over two stages as over one', async () => {
    const request = { ...sizes, modelPath, exact: true, slots: 4 };
    model = await room.serve({ ...request, members: room.members.slice(0, 1) });
    expect(model.placement).toHaveLength(1);
    const whole = await answers();
    await room.lead.models.stop(model.id);
    model = await room.serve({ ...request, ...overTwo });
    expect(model.placement).toHaveLength(2);
    expect(await answers()).toEqual(whole);
    await room.lead.models.stop(model.id);

    // Each of them does something.
    const texts = Object.values(whole).flatMap((choices) => choices.map(({ message }) => message.content));
    expect(texts).toHaveLength(Object.keys(cases).length + 2);
    // All but a few have the seed of the first.
    expect(texts.filter((text) => text === texts[0])).toHaveLength(1);
    expect(whole['json schema']?.[0]?.message.content).toMatch(/^\s*\{\s*"name"/);
    expect(whole.grammar?.[0]?.message.content).toMatch(/^(yes|no|maybe) [a-z ]+$/);
    expect(whole.logprobs?.[0]?.logprobs).toMatchObject({ content: expect.arrayContaining([expect.anything()]) });
  }, 90_000);
});
