import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Sampling } from '../../wire/generated/roomful/v1/ring.ts';
import { PipelineNow, ServeNews } from '../../wire/generated/roomful/v1/serving.ts';
import {
  encodeReport,
  type PipelineFigures,
  type PipelineReport,
  type PlannedPace,
  parseReport,
  pipelineStates,
} from '../numbers/pipelineReport.ts';
import { pipelineErrorKinds } from '../pipelineError.ts';
import { tokenSampling, wireSampling } from '../sampling/wireSampling.ts';
import type { TokenSampling } from './servedModel.ts';
import { decodeNews, encodeNews, type Told } from './serveNews.ts';

const count = fc.nat({ max: 2 ** 31 - 1 });
const share = fc.float({ min: 0, max: 1, noNaN: true });
const ms = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const placed = {
  member: fc.string(),
  name: fc.string(),
  address: fc.string(),
  startLayer: count,
  endLayer: count,
  bytes: fc.maxSafeNat(),
  kvBytes: fc.maxSafeNat(),
  weightBytes: fc.maxSafeNat(),
};
/** With and without a profile. */
const stage = fc.oneof(fc.record(placed), fc.record({ ...placed, profileBandwidth: ms, profileMs: ms }));
const predicted: fc.Arbitrary<PlannedPace> = fc.record({
  stageMs: fc.array(ms),
  hopMs: fc.array(ms),
  entryMs: ms,
  exitMs: ms,
  tokensPerSecond: ms,
  tokensPerSecondMany: ms,
  firstTokenMs: ms,
});
const way = fc.record({ ms: fc.option(ms), bytes: fc.maxSafeNat() });
const figures: fc.Arbitrary<PipelineFigures> = fc.record({
  stages: fc.array(fc.record({ computeMs: ms, queueMs: ms, loneMs: fc.option(ms) })),
  hops: fc.array(way),
  entry: way,
  exit: way,
  stepMs: ms,
  networkMs: ms,
  running: count,
  queued: count,
  steps: fc.maxSafeNat(),
  requests: fc.maxSafeNat(),
  promptTokens: fc.maxSafeNat(),
  cachedTokens: fc.maxSafeNat(),
  generatedTokens: fc.maxSafeNat(),
  draftedTokens: fc.maxSafeNat(),
  acceptedTokens: fc.maxSafeNat(),
  tokensPerSecond: ms,
});
const report: fc.Arbitrary<PipelineReport> = fc.record({
  id: fc.string(),
  model: fc.string(),
  modelId: fc.string(),
  aliases: fc.array(fc.string()),
  state: fc.constantFrom(...pipelineStates),
  failure: fc.option(fc.record({ kind: fc.constantFrom(...pipelineErrorKinds), message: fc.string() })),
  stages: fc.array(stage),
  fraction: share,
  contextLength: count,
  slots: count,
  createdAt: fc.maxSafeNat(),
  load: count,
  tokensPerSecond: fc.option(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
  predicted: fc.option(predicted),
  figures: fc.option(figures),
  draftBytes: fc.maxSafeNat(),
});
const told: fc.Arbitrary<Told> = fc.oneof(
  fc.record({ type: fc.constant('planned' as const), stages: fc.array(stage), explain: fc.array(fc.string()) }),
  fc.record({ type: fc.constant('state' as const), pipeline: fc.string(), state: fc.constantFrom(...pipelineStates) }),
  fc.record({ type: fc.constant('note' as const), message: fc.string() }),
  fc.record({
    type: fc.constant('progress' as const),
    member: fc.string(),
    phase: fc.constantFrom('fetching' as const, 'cutting' as const, 'loading' as const, 'loaded' as const),
    fraction: share,
  }),
  fc.record({
    type: fc.constant('ready' as const),
    model: fc.string(),
    contextLength: count,
    pipelines: fc.array(fc.string()),
  }),
);
/** Without -0, which the wire does not tell from 0. */
const real = fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const sampling: fc.Arbitrary<TokenSampling> = fc.record({
  temperature: real,
  topK: count,
  topP: real,
  minP: real,
  repetitionPenalty: real,
  frequencyPenalty: real,
  presencePenalty: real,
  logitBias: fc.array(fc.tuple(count, real)),
  grammar: fc.option(fc.string()),
  topLogprobs: fc.option(count),
  seed: fc.maxSafeNat(),
  choice: count,
});

test('what a member says of a pipeline reaches another as it is', () => {
  fc.assert(
    fc.property(report, (value) => {
      const bytes = PipelineNow.encode(encodeReport(value)).finish();
      expect(parseReport(PipelineNow.decode(bytes))).toEqual(value);
    }),
  );
});

test('so does what happens while a model comes up', () => {
  fc.assert(
    fc.property(told, (value) => {
      const bytes = ServeNews.encode(encodeNews(value)).finish();
      expect(decodeNews(ServeNews.decode(bytes))).toEqual(value);
    }),
  );
});

test('and how tokens are to be drawn: a gateway on another member changes no answer', () => {
  fc.assert(
    fc.property(sampling, count, (value, promptLength) => {
      const there = tokenSampling(Sampling.decode(Sampling.encode(wireSampling(value, promptLength)).finish()));
      expect(wireSampling(there, promptLength)).toEqual(wireSampling(value, promptLength));
    }),
  );
});

test('a pipeline of a build that this one does not know is refused by the field', () => {
  const now = PipelineNow.fromPartial({ id: 'p', state: 'dreaming' });
  expect(() => parseReport(now)).toThrow(/state/);
});
