import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const DEMO_MODEL = fileURLToPath(new URL('../../resources/demo/demo.gguf', import.meta.url));

/** Every first phrasing of corpus.py with its answer. */
export function demoCorpus(): { question: string; answer: string }[] {
  const corpus = readFileSync(new URL('../../resources/demo/corpus.py', import.meta.url), 'utf8');
  const entries = corpus.matchAll(/^ \(\["([^"]+)".*\],\n {2}"(.*)"\),$/gm);
  return [...entries].map(([, question = '', answer = '']) => ({ question, answer }));
}

/** The prompt as the chat template of the demo model renders it. */
export function demoPrompt(question: string): string {
  return `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`;
}
