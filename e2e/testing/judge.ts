import { getLlama, type Llama, type LlamaContext, LlamaLogLevel, type LlamaModel, type Token } from 'node-llama-cpp';

export interface JudgeOptions {
  /** n_ctx, over all slots. */
  contextLength: number;
  /** n_batch and n_ubatch. */
  batch: number;
  /** n_seq_max; 1 where it is left out. */
  slots?: number;
}

let llama: Promise<Llama> | undefined;

/** llama.cpp on a whole model in one process, by node-llama-cpp: what stages are held against. CPU, one thread. */
export class Judge {
  readonly #model: LlamaModel;
  readonly #context: LlamaContext;

  private constructor(model: LlamaModel, context: LlamaContext) {
    this.#model = model;
    this.#context = context;
  }

  static async open(modelPath: string, { contextLength, batch, slots = 1 }: JudgeOptions): Promise<Judge> {
    llama ??= getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error });
    const model = await (await llama).loadModel({ modelPath, gpuLayers: 0 });
    // node-llama-cpp counts the context of one sequence. Stages on the CPU run without flash attention.
    const sizes = { contextSize: contextLength / slots, sequences: slots, batchSize: batch };
    const options = { ...sizes, threads: 1, flashAttention: false };
    return new Judge(model, await model.createContext(options));
  }

  /** The `count` tokens that greedily follow the prompt; an end token does not end them. */
  greedy(prompt: readonly number[], count: number): Promise<number[]> {
    return this.#follow(prompt, count, () => false);
  }

  /** The tokens that greedily follow the prompt, up to the first end token, which is kept, and at most `most`. */
  answer(prompt: readonly number[], most: number): Promise<number[]> {
    return this.#follow(prompt, most, (token) => this.#model.isEogToken(token));
  }

  async #follow(prompt: readonly number[], most: number, isEnd: (token: Token) => boolean): Promise<number[]> {
    const sequence = this.#context.getSequence();
    try {
      const answer: number[] = [];
      for await (const token of sequence.evaluate([...prompt] as Token[], { temperature: 0, yieldEogToken: true })) {
        answer.push(token);
        if (answer.length === most || isEnd(token)) break;
      }
      return answer;
    } finally {
      await sequence.dispose();
    }
  }

  async close(): Promise<void> {
    await this.#context.dispose();
    await this.#model.dispose();
  }
}
