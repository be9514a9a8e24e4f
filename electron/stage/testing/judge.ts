import { getLlama, type Token } from 'node-llama-cpp';

export interface JudgeOptions {
  path: string;
  contextLength: number;
  batch: number;
  threads: number;
  count: number;
}

/**
 * What llama.cpp itself says: the greedy tokens of the whole model after each prompt, by node-llama-cpp on the CPU with
 * the setting of our stages, flash attention off included. It takes over llama.cpp's log of this process, so it
 * must be done before the addon opens.
 */
export async function judge(prompts: readonly (readonly number[])[], options: JudgeOptions): Promise<number[][]> {
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: options.threads });
  try {
    const model = await llama.loadModel({ modelPath: options.path, gpuLayers: 0 });
    const answers: number[][] = [];
    for (const prompt of prompts) {
      const context = await model.createContext({
        contextSize: options.contextLength,
        batchSize: options.batch,
        threads: options.threads,
        sequences: 1,
        flashAttention: false,
      });
      const evaluation = context.getSequence().evaluate(
        prompt.map((token) => token as Token),
        { temperature: 0, yieldEogToken: true },
      );
      const tokens: number[] = [];
      for await (const token of evaluation) {
        tokens.push(token);
        if (tokens.length === options.count) break;
      }
      answers.push(tokens);
      await context.dispose();
    }
    return answers;
  } finally {
    await llama.dispose();
  }
}
