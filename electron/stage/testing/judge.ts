import { getLlama, type LlamaContextSequence, type Token } from 'node-llama-cpp';

export interface JudgeOptions {
  path: string;
  contextLength: number;
  batch: number;
  threads: number;
  count: number;
}

export interface Judgement {
  /** The greedy tokens after the prompt. */
  tokens: number[];
  /** The probability of every token to be the first of them, at temperature 1, most probable first. */
  probabilities: [token: number, probability: number][];
}

/**
 * What llama.cpp itself says after each prompt: node-llama-cpp with the whole model on the CPU and the setting of our
 * stages, flash attention off included. It takes over llama.cpp's log of this process, so it must be done before
 * the addon opens.
 */
export async function judge(prompts: readonly (readonly number[])[], options: JudgeOptions): Promise<Judgement[]> {
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: options.threads });
  try {
    const model = await llama.loadModel({ modelPath: options.path, gpuLayers: 0 });
    const answers: Judgement[] = [];
    for (const prompt of prompts) {
      const context = await model.createContext({
        contextSize: options.contextLength,
        batchSize: options.batch,
        threads: options.threads,
        sequences: 1,
        flashAttention: false,
      });
      const sequence = context.getSequence();
      const given = prompt.map((token) => token as Token);
      const tokens: number[] = [];
      for await (const token of sequence.evaluate(given, { temperature: 0, yieldEogToken: true })) {
        tokens.push(token);
        if (tokens.length === options.count) break;
      }
      await sequence.clearHistory();
      answers.push({ tokens, probabilities: await probabilitiesAfter(sequence, given) });
      await context.dispose();
    }
    return answers;
  } finally {
    await llama.dispose();
  }
}

async function probabilitiesAfter(sequence: LlamaContextSequence, prompt: Token[]): Promise<[number, number][]> {
  const plain = { temperature: 1, topK: 0, topP: 1, minP: 0, yieldEogToken: true };
  const evaluation = sequence.evaluateWithMetadata(prompt, { probabilities: true }, plain);
  const { value } = await evaluation.next();
  await evaluation.return();
  if (!value) throw new Error('node-llama-cpp gave no token');
  return [...value.probabilities];
}
