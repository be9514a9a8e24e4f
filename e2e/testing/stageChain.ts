import type { StageFile } from '../../electron/gguf/cutStage.ts';
import type { NativeAddon, NativeStage, NativeStep } from '../../electron/stage/nativeAddon.ts';
import { greedy } from '../../electron/stage/testing/demoModel.ts';

export interface StageChainOptions {
  contextLength: number;
  /** Most tokens in one step; longer prompts go in several. */
  batch: number;
}

type Loadable = Pick<StageFile, 'path' | 'layers' | 'embedding'> & { role: StageFile['role'] | 'whole' };

/** The stages of a model in this process, each fed with the f32 output of the one before. CPU, one thread. */
export class StageChain {
  readonly #stages: NativeStage[];
  readonly #options: StageChainOptions;

  private constructor(stages: NativeStage[], options: StageChainOptions) {
    this.#stages = stages;
    this.#options = options;
  }

  static async load(addon: NativeAddon, files: readonly Loadable[], options: StageChainOptions): Promise<StageChain> {
    const stages: NativeStage[] = [];
    for (const { path, role, layers, embedding } of files) {
      const vocabulary = null;
      const fixed = { slots: 1, threads: 1, gpuLayers: 0, device: null, kvType: 'f16', maxOutputs: 1 } as const;
      stages.push(await addon.loadStage({ path, role, layers, embedding, vocabulary, ...fixed, ...options }, () => {}));
    }
    return new StageChain(stages, options);
  }

  /** The `count` tokens that greedily follow the prompt, from an empty context. */
  async greedy(prompt: readonly number[], count: number): Promise<number[]> {
    const answer: number[] = [];
    let position = 0;
    let next = [...prompt];
    while (answer.length < count) {
      const tokens = next.splice(0, this.#options.batch);
      const token = await this.#step(tokens, position, next.length === 0);
      position += tokens.length;
      if (token === null) continue;
      answer.push(token);
      next = [token];
    }
    for (const stage of this.#stages) await stage.closeSlot(0);
    return answer;
  }

  async #step(tokens: readonly number[], start: number, samples: boolean): Promise<number | null> {
    let input: NativeStep['input'] = null;
    for (const [index, stage] of this.#stages.entries()) {
      const isLast = index === this.#stages.length - 1;
      const output = isLast ? null : new Uint8Array(tokens.length * stage.embeddingLength * 4);
      const sampling = isLast && samples ? greedy : null;
      const run = { slot: 0, start, tokens: Int32Array.from(tokens), truncateTo: null, sampling };
      const result = await stage.decode({ runs: [run], input, output, outputFormat: 'f32' });
      if (isLast) return result.sampled[0]?.token ?? null;
      if (output === null || result.format === null) throw new Error(`stage ${index} gave no output`);
      input = { format: result.format, bytes: output.subarray(0, result.byteLength) };
    }
    throw new Error('a chain has at least one stage');
  }

  async unload(): Promise<void> {
    for (const stage of this.#stages) await stage.unload();
  }
}
