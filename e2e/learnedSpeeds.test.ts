import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { PipelineReport } from '../electron/pipeline/numbers/pipelineReport.ts';
import { learnSpeed, type SpeedTruth, speedsOf } from '../electron/pipeline/placement/speedTruth.ts';
import { greedySampling } from '../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { ServedPair } from './testing/servedPair.ts';

const TOKENS = 40;
let pair: ServedPair;
beforeAll(async () => {
  pair = await ServedPair.open({ bandwidth: 4e9 });
}, 60_000);
afterAll(() => pair.close());

function reportOf({ pipelines }: ServingModel): PipelineReport {
  const found = pair.models.pipelines().find(({ report }) => report.id === pipelines[0]);
  if (found === undefined) throw new Error('the model does not serve');
  return found.report;
}

test('a plan after a pipeline has run predicts what its stages were measured to take', async () => {
  const model = await pair.serve();
  const planned = reportOf(model);
  expect(planned.predicted?.stageMs).toEqual(planned.stages.map(({ profileMs }) => profileMs));
  const logitBias = [...model.endTokens].map((token) => [token, -100] as const);
  const request = { promptTokens: [5, 6, 7], maxTokens: TOKENS, sampling: { ...greedySampling, logitBias } };
  let tokens = 0;
  for await (const _ of model.generate(request, new AbortController().signal)) tokens += 1;
  expect(tokens).toBe(TOKENS);
  // The look after the last token: nothing more is measured then.
  await vi.waitUntil(() => (reportOf(model).figures?.generatedTokens ?? 0) >= TOKENS, { timeout: 30_000 });
  const ran = reportOf(model);
  const measured = (ran.figures?.stages ?? []).map(({ loneMs }) => loneMs);
  expect(measured).toEqual([expect.any(Number), expect.any(Number)]);
  // A pipeline that runs is left as it was planned.
  expect(ran.predicted).toEqual(planned.predicted);
  expect(ran.stages.map(({ bytes }) => bytes)).toEqual(planned.stages.map(({ bytes }) => bytes));

  const seen = ran.stages.map(({ member, profileBandwidth: bandwidth = 0, profileMs = 0 }, index) => {
    return {
      model: ran.model,
      member,
      backend: 'Cpu' as const,
      bandwidth,
      profileMs,
      measuredMs: measured[index] ?? 0,
    };
  });
  // A stage that takes twenty times more or less than its profile says is expected to be as the other one.
  const known = seen.reduce<readonly SpeedTruth[]>(learnSpeed, []);
  const speeds = speedsOf(known, ran.model, seen);
  const expected = seen.map(({ member, profileMs }) => profileMs / (speeds.get(member) ?? Number.NaN));
  if (known.length === seen.length) {
    for (const [index, ms] of expected.entries()) expect(ms).toBeCloseTo(measured[index] ?? Number.NaN, 9);
  }
  for (let again = 0; again < 2; again += 1) {
    await pair.models.stop(model.id);
    const next = reportOf(await pair.serve());
    for (const [index, ms] of expected.entries()) expect(next.predicted?.stageMs[index]).toBeCloseTo(ms, 6);
    const places = ({ stages }: PipelineReport) =>
      stages.map(({ takenBytes: _, profileMs, ...place }) => ({ ...place, profileMs: profileMs?.toFixed(6) }));
    expect(places(next)).toEqual(places(ran));
  }
}, 120_000);
