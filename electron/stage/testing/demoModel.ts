import { fileURLToPath } from 'node:url';
import type { NativeLoadOptions, NativeSampling } from '../nativeAddon.ts';

/** The model of resources/demo, which knows the answers of its corpus by heart. */
export const demoPath = fileURLToPath(new URL('../../../resources/demo/demo.gguf', import.meta.url));
export const demoLayers = 12;
export const demoWidth = 192;

export const hopAnswer =
  'A hop is one trip of an activation from one machine to the next. ' +
  'Every token pays for every hop, so the planner uses as few machines as it can.';

/** Sampling that changes nothing, at temperature 1. */
export const plain: NativeSampling = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: null,
  grammar: null,
  promptLength: 0,
  topLogprobs: null,
  seed: 0n,
  choice: 0,
};
export const greedy: NativeSampling = { ...plain, temperature: 0 };

export function chatPrompt(question: string): string {
  return `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`;
}

/** The whole demo model on one thread, with room for four slots. */
export function demoOptions(changes: Partial<NativeLoadOptions> = {}): NativeLoadOptions {
  return {
    path: demoPath,
    role: 'whole',
    layers: demoLayers,
    embedding: null,
    vocabulary: null,
    contextLength: 512,
    slots: 4,
    batch: 128,
    threads: 1,
    gpuLayers: 0,
    device: null,
    kvType: 'f16',
    maxOutputs: 4,
    ...changes,
  };
}
