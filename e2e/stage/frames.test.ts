import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { StageClient } from '../../electron/stage/stageClient.ts';
import { followRing } from '../../electron/wire/followRing.ts';
import { ActivationFormat, type Run, RunEmbed } from '../../electron/wire/generated/roomful/v1/ring.ts';
import { RingServer } from '../../electron/wire/ringServer.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { generateModel } from '../models/generateModel.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { stepFrame } from '../testing/stepFrame.ts';
import { TestPool } from '../testing/testPool.ts';
import { EPOCH, PIPELINE, TestRing } from '../testing/testRing.ts';

let pool: TestPool;
let ring: TestRing;

const greedy = wireSampling(greedySampling, 3);
let sequences = 0;
/** A run of a sequence of its own unless `generation` says whose it is. */
const run = (fields: Partial<Run> = {}): Run => ({
  slot: 0,
  generation: ++sequences,
  start: 0,
  tokens: [5, 6, 7],
  embed: RunEmbed.RUN_EMBED_NONE,
  copyFrom: undefined,
  sampling: greedy,
  sample: true,
  drafts: 0,
  ...fields,
});

beforeAll(async () => {
  pool = await TestPool.create();
  ring = await TestRing.form({ pool, modelPath: demoModelPath, cuts: [0, 6], exact: true });
});

afterEach(async () => {
  await ring.step([], { closedSlots: [0, 1, 2, 3] });
});

afterAll(async () => {
  await ring.close();
  await pool.remove();
});

test('the last stage returns tokens with their place, the times of every stage, and nothing else', async () => {
  const frame = await ring.step([run({ slot: 2 })]);
  expect(frame.committed).toMatchObject([{ slot: 2, generation: sequences, position: 3 }]);
  expect(frame.timings.map(({ stage }) => stage)).toEqual([0, 1]);
  expect(frame).toMatchObject({ runs: [], closedSlots: [], format: ActivationFormat.ACTIVATION_FORMAT_NONE });
  expect(frame.activations).toHaveLength(0);
});

test('runs of several slots share a frame and answer as they do alone', async () => {
  const alone = await ring.step([run({ slot: 0, tokens: [40, 41, 42, 43] })]);
  await ring.step([], { closedSlots: [0] });
  const quiet = run({ slot: 1, tokens: [9, 8], sample: false });
  const together = await ring.step([quiet, run({ slot: 3, tokens: [40, 41, 42, 43] })]);
  expect(together.committed).toMatchObject([{ slot: 3, position: 4, tokens: alone.committed[0]?.tokens }]);
});

test('what a slot holds beyond truncate_to is gone before the run is computed', async () => {
  const { generation } = run();
  const whole = await ring.step([run({ generation, tokens: [10, 11, 12, 13] })]);
  await ring.step([run({ generation, start: 4, tokens: [99, 98, 97] })]);
  const again = await ring.step([run({ generation, start: 3, tokens: [13], truncateTo: 3 })]);
  expect(again.committed).toEqual(whole.committed);
});

test('drafts are verified in one traversal, and a run that follows on rejected ones is dropped and counted', async () => {
  const { generation } = run();
  const place = { generation, sampling: undefined };
  const told = await ring.step([run({ generation })]);
  const truth = [told.committed[0]?.tokens[0] ?? -1];
  while (truth.length < 5) {
    const start = 2 + truth.length;
    const frame = await ring.step([run({ ...place, start, tokens: truth.slice(-1) })]);
    truth.push(...(frame.committed[0]?.tokens ?? []));
  }
  const last = ring.stages.at(-1);
  const before = await last?.stats();
  const [one = -1, two = -1, three = -1, four = -1, five = -1] = truth;
  const drafted = run({ ...place, start: 3, tokens: [one, two, three, four + 1], truncateTo: 3, drafts: 3 });
  // Sent before the first has come back, as if all its drafts would be taken.
  const ahead = run({ ...place, start: 7, tokens: [five, 9], drafts: 2 });
  const [verified, dropped] = await Promise.all([ring.step([drafted]), ring.step([ahead])]);
  expect(verified.committed).toMatchObject([{ slot: 0, generation, position: 4, tokens: [two, three, four] }]);
  expect(dropped).toMatchObject({ committed: [], failure: undefined });
  expect((await last?.stats())?.staleRuns).toBe((before?.staleRuns ?? 0) + 1);
  const next = await ring.step([run({ ...place, start: 6, tokens: [four], truncateTo: 6 })]);
  expect(next.committed).toMatchObject([{ position: 7, tokens: [five] }]);
});

test('log probabilities come with the tokens, and a sequence that cannot go on says why and stops no other', async () => {
  const sampling = { ...greedy, topLogprobs: 2 };
  const deaf = { ...greedy, grammar: 'root ::= "a"', promptLength: 0 };
  const frame = await ring.step([run({ slot: 1, sampling }), run({ slot: 2, sampling: deaf })]);
  const [good, bad] = frame.committed;
  expect(good?.logprobs).toMatchObject([{ topTokens: [good?.tokens[0], expect.any(Number)] }]);
  expect(bad).toMatchObject({ slot: 2, tokens: [], failure: expect.stringMatching(/does not follow the grammar/) });
});

test('a token that is wanted before anybody said how is a failure', async () => {
  const frame = await ring.step([run({ sampling: undefined })]);
  expect(frame.failure).toMatchObject({ stage: 1, kind: 'BadFrame' });
});

test('frames of another pipeline, an older or newer epoch and a past step are dropped and counted', async () => {
  const [first] = ring.stages;
  const before = await first?.stats();
  const step = 1_000_000;
  await ring.outlet.send(stepFrame({ pipeline: 'other', epoch: EPOCH, step }));
  await ring.outlet.send(stepFrame({ pipeline: PIPELINE, epoch: { ...EPOCH, counter: 1 }, step }));
  await ring.outlet.send(stepFrame({ pipeline: PIPELINE, epoch: { ...EPOCH, counter: 99 }, step }));
  await ring.outlet.send(stepFrame({ pipeline: PIPELINE, epoch: EPOCH, step: 1 }));
  expect((await ring.step([run()])).committed).toHaveLength(1);
  const after = await first?.stats();
  for (const verdict of ['WrongPipeline', 'StaleEpoch', 'UnknownEpoch', 'StaleStep'] as const) {
    expect((after?.dropped[verdict] ?? 0) - (before?.dropped[verdict] ?? 0)).toBe(1);
  }
});

test('a run of a sequence that has lost its slot is dropped; others of the frame are not', async () => {
  const staleRuns = () => Promise.all(ring.stages.map(async (stage) => (await stage.stats()).staleRuns));
  const before = await staleRuns();
  const { generation } = run();
  const alone = await ring.step([run({ slot: 1, generation, tokens: [50, 51] })]);
  const stale = run({ slot: 0, start: 1, tokens: [2, 3] });
  await ring.step([run({ slot: 0, tokens: [1] })], { closedSlots: [1] });
  const frame = await ring.step([stale, run({ slot: 1, generation, tokens: [50, 51] })]);
  expect(frame.committed).toEqual(alone.committed);
  const after = await staleRuns();
  expect(after).toEqual([(before[0] ?? Number.NaN) + 1, before[1]]);
});

test('a run goes on from what another slot holds, on every stage, also where that one makes way in the next frame', async () => {
  const tokens = Array.from({ length: 30 }, (_, at) => 40 + at);
  const source = run({ slot: 1, tokens: tokens.slice(0, 25) });
  const alone = await ring.step([run({ slot: 0, tokens })]);
  const copy = { slot: 0, start: 20, tokens: tokens.slice(20), copyFrom: { slot: 1, generation: source.generation } };
  const [, copied] = await Promise.all([
    ring.step([source]),
    ring.step([run(copy)]),
    ring.step([run({ slot: 1, tokens: [9, 8, 7] })], { closedSlots: [1] }),
  ]);
  expect(copied.failure).toBeUndefined();
  expect(copied.committed[0]?.tokens).toEqual(alone.committed[0]?.tokens);
  // Its own run is stale, and with it the copy.
  const stale = await ring.step([run({ ...copy, generation: source.generation })]);
  expect(stale).toMatchObject({ committed: [], failure: undefined });
});

test.each([
  ['from a slot that does not exist', { slot: 4 }, 'BadFrame', /does not exist/],
  ['from a sequence that has lost its slot', { generation: 0 }, 'BadFrame', /has lost slot 1/],
  ['of more than is held', { slot: 2 }, 'BadArgument', /holds 0 tokens/],
  ['from the slot itself', { slot: 0 }, 'BadArgument', /different slots/],
])('a copy %s is a failure that travels to the coordinator, and the ring goes on', async (_, from, kind, message) => {
  const source = run({ slot: 1, tokens: [5, 6, 7, 8] });
  await ring.step([source]);
  const { generation } = source;
  const failed = await ring.step([run({ start: 3, copyFrom: { slot: 1, generation, ...from } })]);
  expect(failed.failure).toMatchObject({ stage: 0, kind, message: expect.stringMatching(message) });
  expect(failed.committed).toEqual([]);
  expect((await ring.step([run({ truncateTo: 0 })])).committed).toHaveLength(1);
});

test.each([
  ['a slot that does not exist', { slot: 4 }, 'BadFrame'],
  ['more tokens than a step may have', { tokens: new Array<number>(65).fill(1) }, 'BadFrame'],
  ['a token outside the vocabulary', { tokens: [1_000_000] }, 'BadArgument'],
])('%s is a failure that travels to the coordinator, and the ring goes on', async (_, change, kind) => {
  const failed = await ring.step([run(change)]);
  expect(failed.failure).toMatchObject({ stage: 0, kind });
  expect(failed.failure?.message).not.toBe('');
  expect(failed.committed).toEqual([]);
  expect((await ring.step([run()])).committed).toHaveLength(1);
});

test('steps that are sent without waiting come back in order, each with its own answer', async () => {
  const prompts = [60, 61, 62, 63].map((token) => [token, 61, 62]);
  const alone: unknown[] = [];
  for (const tokens of prompts) {
    alone.push((await ring.step([run({ tokens })], { closedSlots: [0] })).committed[0]?.tokens[0]);
  }
  await ring.step([], { closedSlots: [0] });
  const frames = await Promise.all(prompts.map((tokens, slot) => ring.step([run({ slot, tokens })])));
  expect(frames.map(({ committed }) => committed[0]?.slot)).toEqual([0, 1, 2, 3]);
  expect(frames.map(({ committed }) => committed[0]?.tokens[0])).toEqual(alone);
});

test('a prefill chunk of 4 MB goes through two stages, to the token that the whole model says', async () => {
  const path = join(pool.home, 'wide.gguf');
  const shape = {
    layers: 2,
    width: 2048,
    heads: 16,
    kvHeads: 4,
    feedForward: 256,
    vocabulary: 300,
    tied: true,
    seed: 3,
  };
  await generateModel(path, { architecture: 'llama', ...shape });
  const tokens = Array.from({ length: 512 }, (_, index) => 3 + ((index * 7919) % 290));
  const answers: (number | undefined)[] = [];
  for (const cuts of [[0], [0, 1]]) {
    const wide = await TestRing.form({ pool, modelPath: path, cuts, exact: true, batch: 512 });
    const frame = await wide.step([run({ tokens })]);
    answers.push(frame.committed[0]?.tokens[0]);
    await wide.close();
  }
  expect(answers[0]).toBeTypeOf('number');
  expect(answers[1]).toBe(answers[0]);
});

test('activations travel as f16, as f32 when asked, and as f32 when f16 cannot hold them', async () => {
  const [coordinator, member] = [await pool.member(), await pool.member()];
  const file = await cutStage(await openModel(demoModelPath), { start: 0, end: 2 }, join(pool.home, 'first.gguf'));
  if (file.embedding === null) throw new Error('a first stage has an embedding');
  const formats: [number, number][] = [];
  for (const [scale, exact] of [
    [1, false],
    [1, true],
    [1e6, false],
  ] as const) {
    const stage = await StageClient.start(nodeLauncher, { onLinkLost: () => {}, onLost: () => {} });
    const options = { contextLength: 64, slots: 1, batch: 8, threads: 1, gpuLayers: 0, device: null, maxOutputs: 1 };
    const place = { pipeline: PIPELINE, epoch: EPOCH, position: 0 };
    const { path, role, layers, embedding, vocabulary } = file;
    const { address } = await stage.load(
      { ...options, path, role, layers, embedding: { ...embedding, scale }, vocabulary, kvType: 'f16' },
      { ...place, follower: coordinator.id, host: '127.0.0.1', tls: member.tls },
    );
    const source = new RingServer();
    const { tls } = coordinator;
    const server = await WireServer.start({ tls, host: '127.0.0.1', port: 0, services: [source.service] });
    const outlet = source.open({ ...place, follower: member.id });
    await stage.link({ address: server.address, member: coordinator.id });
    const link = await followRing({ ...place, address, member: member.id, tls, position: 1 });
    await outlet.send(stepFrame({ ...place, runs: [run()], exact }));
    const { value } = await link.next();
    formats.push([value.format, value.activations.length]);
    await outlet.close();
    await stage.close();
    await server.close();
  }
  const rowBytes = 3 * 192;
  expect(formats).toEqual([
    [ActivationFormat.ACTIVATION_FORMAT_F16, 2 * rowBytes],
    [ActivationFormat.ACTIVATION_FORMAT_F32, 4 * rowBytes],
    [ActivationFormat.ACTIVATION_FORMAT_F32, 4 * rowBytes],
  ]);
});
