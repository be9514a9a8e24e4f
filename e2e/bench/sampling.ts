import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonObjectGrammar } from '../../electron/gateway/grammar/jsonSchemaGrammar.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import type { TokenSampling } from '../../electron/pipeline/serving/servedModel.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import type { NativeStage } from '../../electron/stage/nativeAddon.ts';
import { nativeSampling } from '../../electron/stage/nativeSampling.ts';
import { generateModel } from '../models/generateModel.ts';
import type { BenchReport } from './report.ts';

const VOCABULARY = 128_256;
const PROMPT_TOKENS = 64;
const TOKENS = 24;
const ROUNDS = 7;
const CONTEXT = 512;

const drawn = { ...greedySampling, temperature: 0.8 };
const samplings: Record<string, TokenSampling> = {
  greedy: greedySampling,
  'greedy, 20 log probabilities': { ...greedySampling, topLogprobs: 20 },
  'greedy, penalties': { ...greedySampling, repetitionPenalty: 1.1, frequencyPenalty: 0.5, presencePenalty: 0.5 },
  'greedy, JSON grammar': { ...greedySampling, grammar: jsonObjectGrammar() },
  temperature: drawn,
  'temperature, top_k 40': { ...drawn, topK: 40 },
  'temperature, top_p 0.95': { ...drawn, topP: 0.95 },
  'temperature, top_k 40, top_p, min_p, penalties': {
    ...{ ...drawn, topK: 40, topP: 0.95, minP: 0.05 },
    ...{ repetitionPenalty: 1.1, frequencyPenalty: 0.5, presencePenalty: 0.5 },
  },
  'temperature, JSON grammar': { ...drawn, grammar: jsonObjectGrammar() },
};

/**
 * What it costs to pick one token of a vocabulary of 128k: the time of a stage for a token of a model that is nearly all
 * vocabulary, less that of the plain greedy choice, which is one pass over the logits. The weights are random, so a draw finds
 * a flat distribution and a grammar refuses nearly every first choice: the dear case of both.
 */
export async function sampling(): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), 'roomful-sampling-'));
  try {
    const path = join(folder, 'vocabulary.gguf');
    const shape = { layers: 1, width: 32, heads: 1, kvHeads: 1, feedForward: 32, vocabulary: VOCABULARY, tied: true };
    await generateModel(path, { architecture: 'llama', ...shape, seed: 1 });
    const sizes = { contextLength: CONTEXT, slots: 1, batch: PROMPT_TOKENS, maxOutputs: 1, threads: 1 };
    const kind = { role: 'whole', layers: 1, embedding: null, vocabulary: null, gpuLayers: 0, device: null } as const;
    const stage = await loadAddon().addon.loadStage({ path, ...kind, ...sizes, kvType: 'f16' }, () => {});
    const times = new Map<string, number[]>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, how] of Object.entries(samplings)) {
        process.stderr.write(`round ${round + 1} of ${ROUNDS}: ${name.padEnd(50)}\r`);
        times.set(name, [...(times.get(name) ?? []), ...(await decode(stage, how))]);
      }
    }
    process.stderr.write('\n');
    await stage.unload();
    return report(times);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** ms of the stage per token. */
async function decode(stage: NativeStage, how: TokenSampling): Promise<number[]> {
  const native = nativeSampling(wireSampling(how, PROMPT_TOKENS));
  const times: number[] = [];
  let tokens = Int32Array.from({ length: PROMPT_TOKENS }, (_, index) => 1000 + index);
  for (let start = 0; times.length < TOKENS; ) {
    const run = { slot: 0, start, tokens, truncateTo: null, sampling: native };
    const { sampled, failures, computeMs } = await stage.decode({
      ...{ runs: [run], input: null, output: null, outputFormat: 'f32' },
    });
    const [next] = sampled;
    if (next === undefined) throw new Error(failures[0]?.message ?? 'no token');
    if (start > 0) times.push(computeMs);
    start += tokens.length;
    tokens = Int32Array.of(next.token);
  }
  await stage.closeSlot(0);
  return times;
}

function report(times: Map<string, number[]>): BenchReport {
  const plain = median(times.get('greedy') ?? []);
  const rows = [...times].map(([name, all]) => {
    const ms = median(all);
    return { sampling: name, msPerToken: round(ms), addedMs: round(ms - plain) };
  });
  return {
    title: `sampling: ${VOCABULARY} tokens, one thread; median of ${ROUNDS} x ${TOKENS} tokens`,
    columns: ['sampling', 'msPerToken', 'addedMs'],
    rows,
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
