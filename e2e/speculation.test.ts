import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServingFigures } from '../electron/gateway/memberApi.ts';
import { servingPipelines } from '../electron/gateway/servingActions.ts';
import type { DrivenNumbers } from '../electron/pipeline/forming/pipelineHost.ts';
import type { PipelineNumbers } from '../electron/pipeline/numbers/pipelineNumbers.ts';
import { greedySampling, plainSampling } from '../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import type { TokenSampling } from '../electron/pipeline/serving/servedModel.ts';
import { DelayRelay } from './bench/delayRelay.ts';
import { smolLm2 } from './models/smolLm2.ts';
import { demoCorpus, demoDraftPath, demoModelPath, demoPrompt } from './testing/demoCorpus.ts';
import { eventually } from './testing/eventually.ts';
import { generated } from './testing/generated.ts';
import { TestRoom } from './testing/testRoom.ts';

/** A way round that is long enough for drafts to pay. */
const ONE_WAY_MS = 10;
const MOST_TOKENS = 60;

let room: TestRoom;
let model: ServingModel;
/** Greedy answers without drafts. */
let plainly: number[][];
const relay = new DelayRelay();

beforeAll(async () => {
  const member = { memoryBytes: 600_000_000, route: relay.route };
  relay.oneWayMs = ONE_WAY_MS;
  room = await TestRoom.open([member, member]);
}, 180_000);
afterAll(async () => {
  await room.close();
  await relay.close();
});

const seeded: TokenSampling = {
  ...plainSampling,
  temperature: 0.9,
  topP: 0.95,
  repetitionPenalty: 1.1,
  seed: 11,
  choice: 0,
};
const questions = demoCorpus()
  .map(({ questions: [question] }) => question ?? '')
  .slice(0, 5);

/** What everyone gets who asks at once, and what the pipeline did for it. */
async function answers(): Promise<{ texts: number[][]; numbers: PipelineNumbers }> {
  const asked = questions.flatMap((question) => [greedySampling, seeded].map((sampling) => ({ question, sampling })));
  const texts = await Promise.all(
    asked.map(async ({ question, sampling }) => {
      const prompt = await model.tokenize(demoPrompt(question), { addSpecial: true, parseSpecial: true });
      return generated(model, prompt, MOST_TOKENS, sampling);
    }),
  );
  return { texts, numbers: newestNumbers() };
}

/** The newest pipeline: those that have ended are still told of for a while. */
function newest(): DrivenNumbers {
  const driven = room.lead.models.numbers().at(-1);
  if (driven === undefined) throw new Error('the lead drives the pipeline');
  return driven;
}

const newestNumbers = (): PipelineNumbers => newest().numbers;

/** What the window is told of it. */
function measured(): ServingFigures | undefined | null {
  const { id } = newest();
  return servingPipelines(room.lead.models).find((pipeline) => pipeline.id === id)?.figures;
}

test('with a draft model every answer, greedy or seeded, is the one without, in fewer steps', async () => {
  model = await room.serve({ modelPath: demoModelPath, force: 'cluster', exact: true });
  expect(model.placement).toHaveLength(2);
  const plain = await answers();
  plainly = plain.texts.filter((_, index) => index % 2 === 0);
  await room.lead.models.stop(model.id);
  model = await room.serve({
    modelPath: demoModelPath,
    draftPath: demoDraftPath,
    force: 'cluster',
    exact: true,
  });
  const drafted = await answers();
  expect(drafted.texts).toEqual(plain.texts);
  expect(drafted.texts.flat().length).toBe(drafted.numbers.generatedTokens - 1);
  expect(drafted.numbers.acceptedTokens).toBeGreaterThan(100);
  expect(drafted.numbers.acceptedTokens).toBeLessThanOrEqual(drafted.numbers.draftedTokens);
  expect(drafted.numbers.steps).toBeLessThan(plain.numbers.steps / 2);
  // Steps that the answers no longer needed may come back after them.
  const { numbers, figures } = await eventually(() => {
    const [numbers, figures] = [newestNumbers(), measured()];
    expect(figures?.hops[0]?.bytes).toBe(numbers.stages[0]?.sentBytes);
    return { numbers, figures };
  });
  const { stages = [], hops: [hop] = [], entry, exit, acceptance, queue, tokensOut } = figures ?? {};
  expect(tokensOut).toBe(numbers.generatedTokens);
  for (const { predictedMs, measuredMs } of stages) {
    expect(predictedMs).toBeGreaterThan(0);
    expect(measuredMs).toBeGreaterThan(0);
  }
  // The ways of a step are made to add up to no more than it took, so one may come out a little shorter than it is.
  expect(hop?.measuredMs).toBeGreaterThan(ONE_WAY_MS / 2);
  // Of two stages at least one is not on the member that drives.
  expect((entry?.bytes ?? 0) + (exit?.bytes ?? 0)).toBeGreaterThan(0);
  expect(exit?.measuredMs).toBeGreaterThan(ONE_WAY_MS / 2);
  expect(acceptance).toBe(numbers.acceptedTokens / numbers.draftedTokens);
  expect(queue).toBe(0);
  expect(numbers.stages.map(({ sentBytes }) => sentBytes > 0)).toEqual(
    model.placement.map((_, stage) => stage < model.placement.length - 1),
  );
}, 180_000);

test('a conversation goes on from what the stages hold', async () => {
  await room.lead.models.stop(model.id);
  model = await room.serve({ modelPath: demoModelPath, draftPath: demoDraftPath, force: 'cluster' });
  const ask = async (text: string): Promise<{ tokens: number[]; prompt: number[]; cached: number }> => {
    const prompt = await model.tokenize(text, { addSpecial: true, parseSpecial: true });
    const before = newestNumbers().cachedTokens;
    const tokens = await generated(model, prompt, MOST_TOKENS);
    return { tokens, prompt, cached: newestNumbers().cachedTokens - before };
  };
  const first = demoPrompt(questions[0] ?? '');
  const { tokens, prompt } = await ask(first);
  const { tokens: again, cached } = await ask(first);
  expect(again).toEqual(tokens);
  expect(cached).toBe(prompt.length - 1);
  // Steps that are shared, drafts and beginnings that are held, all at once, and every answer is the one alone.
  const asked = questions.flatMap((question) => [question, question]);
  const before = newestNumbers();
  const all = await Promise.all(asked.map(async (question) => (await ask(demoPrompt(question))).tokens));
  expect(all).toEqual(plainly.flatMap((answer) => [answer, answer]));
  const after = newestNumbers();
  for (const count of ['cachedTokens', 'acceptedTokens'] as const) {
    expect(after[count]).toBeGreaterThan(before[count]);
  }
}, 60_000);

test('a model of another vocabulary cannot draft, and says so', async (context) => {
  const other = smolLm2();
  if (other === null) return context.skip('SmolLM2 cannot be had here');
  await room.lead.models.stop(model.id);
  await expect(room.serve({ modelPath: demoModelPath, draftPath: other })).rejects.toThrow(
    /cannot draft: its vocabulary/,
  );
  return undefined;
}, 120_000);
