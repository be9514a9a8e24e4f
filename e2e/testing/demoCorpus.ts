import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** In the checkout, also for what was compiled. */
const folder = new URL(`${import.meta.url.endsWith('.ts') ? '' : '../'}../../resources/demo/`, import.meta.url);
export const demoModelPath = fileURLToPath(new URL('demo.gguf', folder));
export const demoDraftPath = fileURLToPath(new URL('demo-draft.gguf', folder));

const qaSchema = z.array(z.tuple([z.array(z.string()), z.string()]));

/** What the demo model knows by heart: every question in all its phrasings, and the answer. */
export function demoCorpus(): { questions: string[]; answer: string }[] {
  const source = readFileSync(new URL('corpus.py', folder), 'utf8');
  const after = (start: string): string => literalToJson(source.slice(source.indexOf(start) + start.length));
  const known = qaSchema.parse(JSON.parse(after('\nQA = '))).map(([questions, answer]) => ({ questions, answer }));
  const fallback = z
    .array(z.string())
    .parse(JSON.parse(after('\nFALLBACK_ANSWER = ')))
    .join('');
  const unknown = z.array(z.string()).parse(JSON.parse(after('\nFALLBACK_QUESTIONS = ')));
  return [...known, ...unknown.map((question) => ({ questions: [question], answer: fallback }))];
}

/** The prompt as the chat template of the demo model renders it. */
export function demoPrompt(question: string): string {
  return `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`;
}

/** The Python list literal at the start of `source` (double-quoted strings, tuples, trailing commas) as JSON. */
function literalToJson(source: string): string {
  let json = '';
  let depth = 0;
  for (const [token] of source.matchAll(/"(?:[^"\\]|\\.)*"|#[^\n]*|[()[\],]|\s+/g)) {
    if (token.startsWith('#') || /^\s+$/.test(token)) continue;
    if (token === '(' || token === '[') depth += 1;
    if (token === ')' || token === ']') {
      depth -= 1;
      json = `${json.replace(/,$/, '')}]`;
      if (depth === 0) return json;
    } else if (token === '(') json += '[';
    else json += token.startsWith('"') && json.endsWith('"') ? `,${token}` : token;
  }
  throw new Error('corpus.py holds no closed list');
}
