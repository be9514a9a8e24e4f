import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateModel } from '../../../e2e/models/generateModel.ts';
import { plan } from '../../planner/plan.ts';
import { checkServable } from '../checkServable.ts';
import { GgufError } from '../ggufError.ts';
import { modelFingerprint } from '../modelFingerprint.ts';
import { modelShape } from '../modelShape.ts';
import { openModel } from '../openModel.ts';
import { planStageFile } from '../planStageFile.ts';
import { ggufBytes, modelEntries } from './ggufBytes.ts';
import { mutateGguf, seededRandom } from './mutateGguf.ts';

/** A whole file, and how far its header goes. */
export interface FuzzSeed {
  bytes: Buffer;
  headerBytes: number;
}

/** What a file that was mutated came to. */
export type FuzzOutcome = 'opened' | GgufError['code'];

/** Files of several kinds to begin from; written below `folder` where they are made by the model generator. */
export async function fuzzSeeds(folder: string): Promise<FuzzSeed[]> {
  const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 32, vocabulary: 260, seed: 1 } as const;
  const made: FuzzSeed[] = [];
  for (const [index, more] of [
    { architecture: 'llama', tied: true, perLayerArrays: true } as const,
    { architecture: 'qwen3', tied: false, yarn: true, alignment: 64 } as const,
  ].entries()) {
    const [path = ''] = await generateModel(join(folder, `seed-${index}.gguf`), { ...shape, ...more });
    const offsets = [...(await openModel(path)).tensors.values()].map(({ offset }) => offset);
    made.push({ bytes: await readFile(path), headerBytes: Math.min(...offsets) });
  }
  const tensors = Array.from({ length: 40 }, (_, n) => ({ name: `blk.${n % 4}.ffn_up_exps.${n}.weight` }));
  const small = ggufBytes({
    entries: [
      ...modelEntries(4, 'gpt-oss'),
      ['gpt-oss.attention.sliding_window', { type: 'u32', value: 128 }],
      ['gpt-oss.expert_count', { type: 'u32', value: 8 }],
      ['gpt-oss.embedding_length', { type: 'u32', value: 64 }],
      ['split.count', { type: 'u16', value: 1 }],
      ['general.alignment', { type: 'u32', value: 32 }],
    ],
    tensors,
  });
  return [...made, { bytes: small, headerBytes: small.byteLength - 40 * 32 }];
}

/**
 * Mutates one of the seeds and does with it all that Roomful does with a header. Throws where that ends otherwise than with
 * a model, or with one plain line that names the file.
 */
export async function fuzzOnce(seeds: readonly FuzzSeed[], seed: number, path: string): Promise<FuzzOutcome> {
  const random = seededRandom(seed);
  const pick = (): FuzzSeed => {
    const found = seeds[Math.floor(random() * seeds.length)];
    if (found === undefined) throw new Error('There is nothing to begin from.');
    return found;
  };
  const [from, other] = [pick(), pick()];
  await writeFile(path, mutateGguf(from.bytes, other.bytes, from.headerBytes, random));
  return readWhole(path);
}

async function readWhole(path: string): Promise<FuzzOutcome> {
  try {
    const source = await openModel(path);
    modelFingerprint(source);
    const shape = modelShape(source);
    const member = { address: 'a', backend: 'Cuda', memoryBytes: 1e12, build: 'b' } as const;
    plan([member], shape);
    const [cut] = shape.cutPoints;
    if (cut !== undefined) planStageFile(source, { start: cut, end: source.layers });
    checkServable(source);
    return 'opened';
  } catch (cause) {
    if (!(cause instanceof GgufError)) throw cause;
    if (!cause.message.startsWith(path) || !/^[^\p{Cc}]+$/u.test(cause.message)) {
      throw new Error(`It is not one plain line that names the file: ${cause.message}`, { cause });
    }
    return cause.code;
  }
}
