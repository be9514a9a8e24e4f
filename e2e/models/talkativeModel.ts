import { join } from 'node:path';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { generateModel } from './generateModel.ts';

/** Makes a random model that takes the demo's chats and answers with hundreds of tokens without sense before it ends. */
export async function talkativeModel(folder: string, name = 'talkative', seed = 1): Promise<string> {
  const [path = ''] = await generateModel(join(folder, `${name}.gguf`), {
    architecture: 'llama',
    layers: 6,
    width: 128,
    heads: 4,
    kvHeads: 2,
    feedForward: 256,
    vocabulary: 1536,
    tied: false,
    seed,
    contextLength: 4096,
    tokenizerFrom: demoModelPath,
  });
  return path;
}
