import { join } from 'node:path';
import { cutStage } from '../../gguf/cutStage.ts';
import { openModel } from '../../gguf/openModel.ts';
import type {
  ActivationFormat,
  NativeAddon,
  NativeLoadOptions,
  NativeRun,
  NativeStage,
  NativeStepResult,
} from '../nativeAddon.ts';

/** What the last stage gave, and the format of every hop. */
export type ChainResult = Pick<NativeStepResult, 'sampled' | 'failures' | 'dropped'> & { formats: string[] };

/** Stages that together hold one model, stepped one after the other in this process. */
export interface StageChain {
  stages: NativeStage[];
  /** One traversal; only the last stage is told to sample. */
  step(runs: NativeRun[], format: ActivationFormat): Promise<ChainResult>;
  unload(): Promise<void>;
}

/** Cuts the model at `cuts` (layers at which a stage begins, without 0) into `folder` and loads every stage. */
export async function loadChain(
  addon: NativeAddon,
  options: NativeLoadOptions,
  cuts: readonly number[],
  folder: string,
  { withVocabulary = true }: { withVocabulary?: boolean } = {},
): Promise<StageChain> {
  const model = await openModel(options.path);
  const edges = [0, ...cuts, model.layers];
  const stages: NativeStage[] = [];
  for (const [index, start] of edges.slice(0, -1).entries()) {
    const range = { start, end: edges[index + 1] ?? model.layers };
    const file = await cutStage(model, range, join(folder, `${range.start}-${range.end}.gguf`));
    const { path, role, layers, embedding } = file;
    const vocabulary = withVocabulary ? file.vocabulary : null;
    stages.push(await addon.loadStage({ ...options, path, role, layers, embedding, vocabulary }, () => undefined));
  }
  return chainOf(stages);
}

export function chainOf(stages: NativeStage[]): StageChain {
  return {
    stages,
    async step(runs, format) {
      const count = runs.reduce((sum, run) => sum + run.tokens.length, 0);
      const formats: string[] = [];
      let input: { format: ActivationFormat; bytes: Uint8Array } | null = null;
      for (const [index, stage] of stages.entries()) {
        const isLast = index === stages.length - 1;
        const output: Uint8Array | null = isLast ? null : new Uint8Array(count * stage.embeddingLength * 4);
        const ownRuns = isLast ? runs : runs.map((run) => ({ ...run, sampling: null, drafts: 0 }));
        const result = await stage.decode({ runs: ownRuns, input, output, outputFormat: format });
        const { sampled, failures, dropped } = result;
        if (isLast) return { sampled, failures, dropped, formats };
        if (output === null || result.format === null) continue;
        formats.push(result.format);
        input = { format: result.format, bytes: output.subarray(0, result.byteLength) };
      }
      throw new Error('a chain without stages');
    },
    async unload() {
      await Promise.all(stages.map((stage) => stage.unload()));
    },
  };
}
