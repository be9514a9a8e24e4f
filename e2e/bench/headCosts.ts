import { median } from '../../electron/pipeline/numbers/median.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import { nativeSampling } from '../../electron/stage/nativeSampling.ts';

const ROUNDS = 7;
const PROMPT_TOKENS = 16;

export interface HeadCost {
  rows: number;
  /** A step of so many rows, all of which give a token. */
  ms: number;
  /** Of that the output head and the sampler. */
  headMs: number;
}

/** What steps of so many rows cost on one thread, with the head on every row and without it. They take turns. */
export async function headCosts(path: string, sizes: readonly number[]): Promise<HeadCost[]> {
  const most = Math.max(...sizes);
  const stage = await loadAddon().addon.loadStage(
    {
      ...{ path, role: 'whole', layers: 16, embedding: null, vocabulary: null, threads: 1, gpuLayers: 0, device: null },
      ...{ contextLength: 256, slots: 1, batch: 64, maxOutputs: most, kvType: 'f16' },
    },
    () => {},
  );
  try {
    const sampling = nativeSampling(wireSampling(greedySampling, PROMPT_TOKENS));
    const step = async (start: number, count: number, withHead: boolean): Promise<number> => {
      const tokens = Int32Array.from({ length: count }, (_, index) => 1000 + start + index);
      const run = { slot: 0, start, tokens, truncateTo: start, sampling: withHead ? sampling : null };
      const drafts = withHead ? count - 1 : 0;
      // Drafts are sampled only as far as they are right, so the head is measured by what llama.cpp computes.
      const began = performance.now();
      await stage.decode({ runs: [{ ...run, drafts }], input: null, output: null, outputFormat: 'f32' });
      return performance.now() - began;
    };
    await step(0, PROMPT_TOKENS, false);
    const times = new Map<string, number[]>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const rows of sizes) {
        for (const withHead of [true, false]) {
          const key = `${rows} ${withHead}`;
          times.set(key, [...(times.get(key) ?? []), await step(PROMPT_TOKENS, rows, withHead)]);
        }
      }
    }
    return sizes.map((rows) => {
      const [ms, bodyMs] = [true, false].map((withHead) => median(times.get(`${rows} ${withHead}`) ?? []));
      return { rows, ms: ms ?? 0, headMs: (ms ?? 0) - (bodyMs ?? 0) };
    });
  } finally {
    await stage.unload();
  }
}
