import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateModel } from '../models/generateModel.ts';

/** The checkout, from dist/e2e/bench. */
const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * A llama of 1.24 billion random parameters, Q4_0 with a tied Q4_0 head of 128k tokens: the shape of Llama 3.2 1B, which
 * ENGINE figures were measured on. Made once and kept in the checkout's cache.
 */
export async function billionModel(): Promise<string> {
  const path = join(root, '.cache', 'bench', 'llama-1b-q4_0.gguf');
  if (existsSync(path)) return path;
  mkdirSync(dirname(path), { recursive: true });
  process.stderr.write('making a random model of 1.24 billion parameters ...\n');
  const partial = path.replace(/\.gguf$/, '.partial.gguf');
  await generateModel(partial, {
    architecture: 'llama',
    layers: 16,
    width: 2048,
    heads: 32,
    kvHeads: 8,
    feedForward: 8192,
    vocabulary: 128_256,
    tied: true,
    seed: 1,
    types: { embedding: 'Q4_0', attention: 'Q4_0', feedForward: 'Q4_0' },
    ropeFactors: true,
  });
  renameSync(partial, path);
  return path;
}
