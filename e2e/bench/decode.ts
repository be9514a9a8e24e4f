import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import type { ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import type { NativeStage } from '../../electron/stage/nativeAddon.ts';
import { nativeSampling } from '../../electron/stage/nativeSampling.ts';
import { startBenchRoom } from './benchRoom.ts';
import { billionModel } from './billionModel.ts';
import { DelayRelay } from './delayRelay.ts';
import { median } from './median.ts';
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

/** ms per token of each sequence, one number per token. */
type Measure = (sequences: number) => Promise<number[]>;

interface Subject {
  name: string;
  measure: Measure;
}

/**
 * How long a token takes: the whole model in one process against pipelines of one-thread stages on this machine, with and
 * without a round trip between them, for one sequence and for four at once. All alternate within one run.
 */
export async function decode(): Promise<BenchReport> {
  const modelPath = await billionModel();
  const closers: (() => Promise<void> | void)[] = [];
  try {
    const whole = await loadWhole(modelPath);
    closers.push(() => whole.unload());
    const subjects: Subject[] = [{ name: 'whole', measure: (sequences) => decodeWhole(whole, sequences) }];
    for (const stages of STAGES) {
      const relay = new DelayRelay();
      closers.push(() => relay.close());
      const size = { modelPath, stages, slots: SLOTS, contextLength: CONTEXT };
      process.stderr.write(`forming pipelines of ${stages} stages ...\n`);
      const direct = await startBenchRoom(size);
      closers.push(() => direct.close());
      const delayed = await startBenchRoom({ ...size, route: relay.route });
      closers.push(() => delayed.close());
      for (const roundTripMs of ROUND_TRIPS_MS) {
        const { model } = roundTripMs === 0 ? direct : delayed;
        const measure: Measure = async (sequences) => {
          relay.oneWayMs = roundTripMs / 2;
          return decodePipeline(model, sequences);
        };
        subjects.push({ name: `${stages} stages, ${roundTripMs} ms`, measure });
      }
    }
    return report(await alternate(subjects));
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

async function alternate(subjects: Subject[]): Promise<Map<string, number>> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const sequences of SEQUENCES) {
      for (const { name, measure } of subjects) {
        process.stderr.write(`round ${round + 1} of ${ROUNDS}: ${name}, ${sequences} at once    \r`);
        const key = keyOf(name, sequences);
        times.set(key, [...(times.get(key) ?? []), ...(await measure(sequences))]);
      }
    }
  }
  process.stderr.write('\n');
  return new Map([...times].map(([key, values]) => [key, median(values)]));
}

function report(medians: Map<string, number>): BenchReport {
  const names = ['whole', ...STAGES.flatMap((stages) => ROUND_TRIPS_MS.map((ms) => `${stages} stages, ${ms} ms`))];
  const rows = names.flatMap((name) =>
    SEQUENCES.map((sequences) => {
      const ms = medians.get(keyOf(name, sequences)) ?? Number.NaN;
      const wholeMs = medians.get(keyOf('whole', sequences)) ?? Number.NaN;
      return {
        subject: name,
        sequences,
        msPerToken: round(ms),
        tokensPerSecond: round((1000 / ms) * sequences),
        ofWhole: round(wholeMs / ms),
      };
    }),
  );
  return {
    title: `decode: 1.24 B llama, Q4_0, one thread per stage; median of ${ROUNDS} x ${TOKENS - WARM_UP} tokens`,
    columns: ['subject', 'sequences', 'msPerToken', 'tokensPerSecond', 'ofWhole'],
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
