import { median } from '../../electron/pipeline/numbers/median.ts';
import { type StepTimes, stepTimes } from '../../electron/pipeline/numbers/stepTimes.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import type { ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import type { NativeStage } from '../../electron/stage/nativeAddon.ts';
import { nativeSampling } from '../../electron/stage/nativeSampling.ts';
import { type BenchOptions, isWanted } from './benchOptions.ts';
import { startBenchRoom } from './benchRoom.ts';
import { billionModel } from './billionModel.ts';
import { DelayRelay } from './delayRelay.ts';
import type { BenchReport } from './report.ts';

const SLOTS = 4;
/** Of one sequence. */
const CONTEXT = 256;
const PROMPT_TOKENS = 16;
const TOKENS = 24;
/** Left out of every run: they come with the prefill of the others. */
const WARM_UP = 4;
const ROUNDS = 5;
const STAGES = [2, 3];
const ROUND_TRIPS_MS = [0, 1, 5, 20];
const SEQUENCES = [1, 4];

/** ms per token of each sequence, one number per token; and where the time of single steps went. */
type Measure = (sequences: number) => Promise<{ tokens: number[]; steps: OwnShare[] }>;

/** Where a step of one sequence spends its time, ms. */
interface OwnShare {
  /** All but `stages`: scheduler, gRPC, TLS, crossing to the addon, and the round trip where there is one. */
  own: number;
  stages: number;
  /** From the event loops of the stages to their threads and back. */
  addon: number;
  /** Between processes, encoding and decoding included. */
  wire: number;
  /** From the return of the step before to sending this one. */
  scheduler: number;
}
const SHARES = ['own', 'stages', 'addon', 'wire', 'scheduler'] as const;

interface Subject {
  name: string;
  measure: Measure;
}

/**
 * How long a token takes: the whole model in one process against pipelines of one-thread stages on this machine, with and
 * without a round trip between them, for one sequence and for four at once. All alternate within one run.
 */
export async function decode({ only, rtt = ROUND_TRIPS_MS, rounds = ROUNDS }: BenchOptions): Promise<BenchReport> {
  const modelPath = await billionModel();
  const isMeasured = (name: string): boolean => isWanted(name, only);
  const closers: (() => Promise<void> | void)[] = [];
  try {
    const subjects: Subject[] = [];
    if (isMeasured('whole')) {
      const whole = await loadWhole(modelPath);
      closers.push(() => whole.unload());
      const measure: Measure = async (sequences) => ({ tokens: await decodeWhole(whole, sequences), steps: [] });
      subjects.push({ name: 'whole', measure });
    }
    for (const stages of STAGES) {
      if (!isMeasured(`${stages} stages`)) continue;
      const relay = new DelayRelay();
      closers.push(() => relay.close());
      const size = {
        modelPath,
        stages,
        slots: SLOTS,
        contextLength: CONTEXT,
        pinned: true,
        request: { mostDrafts: 0 },
      };
      process.stderr.write(`forming pipelines of ${stages} stages ...\n`);
      for (const isDelayed of [false, true]) {
        const roundTrips = rtt.filter((ms) => ms > 0 === isDelayed);
        if (roundTrips.length === 0) continue;
        const { model, close } = await startBenchRoom({ ...size, ...(isDelayed && { route: relay.route }) });
        closers.push(close);
        for (const roundTripMs of roundTrips) {
          const measure: Measure = async (sequences) => {
            relay.oneWayMs = roundTripMs / 2;
            return withSteps(() => decodePipeline(model, sequences));
          };
          subjects.push({ name: `${stages} stages, ${roundTripMs} ms`, measure });
        }
      }
    }
    return report(subjects, await alternate(subjects, rounds), rounds);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

interface Measured {
  tokens: number[];
  steps: OwnShare[];
}

async function alternate(subjects: Subject[], rounds: number): Promise<Map<string, Measured>> {
  const all = new Map<string, Measured>();
  for (let round = 0; round < rounds; round += 1) {
    for (const sequences of SEQUENCES) {
      for (const { name, measure } of subjects) {
        process.stderr.write(`round ${round + 1} of ${rounds}: ${name}, ${sequences} at once    \r`);
        const key = keyOf(name, sequences);
        const { tokens, steps } = await measure(sequences);
        const known = all.get(key) ?? { tokens: [], steps: [] };
        all.set(key, { tokens: [...known.tokens, ...tokens], steps: [...known.steps, ...steps] });
      }
    }
  }
  process.stderr.write('\n');
  return all;
}

/** Steps of one row that followed on one another, those of the warm-up left out. */
async function withSteps(measure: () => Promise<number[]>): Promise<Measured> {
  const steps: StepTimes[] = [];
  const hear = (message: unknown): void => {
    steps.push(message as StepTimes);
  };
  stepTimes.subscribe(hear);
  try {
    const tokens = await measure();
    const shares = steps.slice(WARM_UP).flatMap((step, index): OwnShare[] => {
      const before = steps[index + WARM_UP - 1];
      return step.rows > 1 || before === undefined || before.returnedAt > step.sentAt ? [] : [shareOf(step, before)];
    });
    return { tokens, steps: shares };
  } finally {
    stepTimes.unsubscribe(hear);
  }
}

function shareOf({ sentAt, returnedAt, stages: times }: StepTimes, before: StepTimes): OwnShare {
  const [stages, addon] = times.reduce(
    ([computed, waited], { computeMs, queueMs }) => [computed + computeMs, waited + queueMs] as [number, number],
    [0, 0] as [number, number],
  );
  const scheduler = sentAt - before.returnedAt;
  const wire = returnedAt - sentAt - stages - addon;
  return { own: wire + addon + scheduler, stages, addon, wire, scheduler };
}

function report(subjects: Subject[], measured: ReadonlyMap<string, Measured>, rounds: number): BenchReport {
  const msOf = (name: string, sequences: number): number =>
    median(measured.get(keyOf(name, sequences))?.tokens ?? [Number.NaN]);
  const rows = subjects.flatMap(({ name }) =>
    SEQUENCES.map((sequences) => {
      const ms = msOf(name, sequences);
      const steps = sequences === 1 ? (measured.get(keyOf(name, 1))?.steps ?? []) : [];
      const shares = SHARES.map((share) => [share, round(median(steps.map((step) => step[share])))]);
      return {
        subject: name,
        sequences,
        msPerToken: round(ms),
        tokensPerSecond: round((1000 / ms) * sequences),
        ...(measured.has(keyOf('whole', sequences)) && { ofWhole: round(msOf('whole', sequences) / ms) }),
        ...(steps.length > 0 && Object.fromEntries(shares)),
      };
    }),
  );
  return {
    title: `decode: 1.24 B llama, Q4_0, one thread per stage; median of ${rounds} x ${TOKENS - WARM_UP} tokens; own: of a step all but the stages' computing`,
    columns: ['subject', 'sequences', 'msPerToken', 'tokensPerSecond', 'ofWhole', ...SHARES],
    rows,
  };
}

async function loadWhole(path: string): Promise<NativeStage> {
  const { addon } = loadAddon();
  const sizes = { contextLength: CONTEXT * SLOTS, slots: SLOTS, batch: CONTEXT, maxOutputs: SLOTS };
  return addon.loadStage(
    {
      path,
      role: 'whole',
      layers: 16,
      embedding: null,
      vocabulary: null,
      ...sizes,
      threads: 1,
      gpuLayers: 0,
      device: null,
      kvType: 'f16',
    },
    () => {},
  );
}

/** All sequences in one step, as one process would run them. */
async function decodeWhole(stage: NativeStage, sequences: number): Promise<number[]> {
  const sampling = nativeSampling(wireSampling(greedySampling, PROMPT_TOKENS));
  const slots = Array.from({ length: sequences }, (_, slot) => ({ slot, start: 0, tokens: prompt(slot) }));
  const times: number[] = [];
  for (let count = 0; count < TOKENS; count += 1) {
    const before = performance.now();
    const runs = slots.map((slot) => ({ ...slot, tokens: Int32Array.from(slot.tokens), truncateTo: null, sampling }));
    const { sampled } = await stage.decode({ runs, input: null, output: null, outputFormat: 'f32' });
    if (count >= WARM_UP) times.push(performance.now() - before);
    for (const slot of slots) {
      slot.start += slot.tokens.length;
      slot.tokens = [sampled.find((one) => one.slot === slot.slot)?.token ?? 0];
    }
  }
  for (const { slot } of slots) await stage.closeSlot(slot);
  return times;
}

async function decodePipeline(model: ServingModel, sequences: number): Promise<number[]> {
  const never = new AbortController().signal;
  const one = async (index: number): Promise<number[]> => {
    const times: number[] = [];
    let last = performance.now();
    let count = 0;
    for await (const _ of model.generate(
      { promptTokens: prompt(index), maxTokens: TOKENS, sampling: greedySampling },
      never,
    )) {
      const now = performance.now();
      if (count >= WARM_UP) times.push(now - last);
      last = now;
      count += 1;
    }
    return times;
  };
  return (await Promise.all(Array.from({ length: sequences }, (_, index) => one(index)))).flat();
}

function prompt(sequence: number): number[] {
  return Array.from({ length: PROMPT_TOKENS }, (_, index) => 1000 + sequence * 100 + index);
}

function keyOf(name: string, sequences: number): string {
  return `${name} x ${sequences}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
