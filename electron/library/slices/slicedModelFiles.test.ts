import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateModel } from '../../../e2e/models/generateModel.ts';
import { temporaryFolder } from '../../gguf/testing/temporaryFolder.ts';
import { weightsId } from '../modelHashes.ts';
import { ModelLibrary } from '../modelLibrary.ts';
import { FileHasher } from './fileHasher.ts';
import { HolderPeers } from './holderPeers.ts';
import { LibraryHeld } from './libraryHeld.ts';
import { ModelHeaders } from './modelHeaders.ts';
import { SlicedModelFiles } from './slicedModelFiles.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 64, vocabulary: 300, tied: true } as const;

test('a member is no holder of a model whose header its file has with other weights', async () => {
  const [path = ''] = await generateModel(folder.at('model.gguf'), { architecture: 'llama', ...shape, seed: 1 });
  const library = await ModelLibrary.open({ home: folder.at('home') });
  const hasher = new FileHasher(1);
  try {
    const { id } = await library.import(path);
    const weights = weightsId(await library.hashes(id));
    const peers = new HolderPeers({
      tls: () => {
        throw new Error('nobody is to be asked');
      },
    });
    const held = new LibraryHeld(library, hasher);
    const headers = new ModelHeaders({ folder: folder.at('slices'), held, peers, patienceMs: 1 });
    const files = new SlicedModelFiles({ library, headers, self: () => ({ member: 'ada', addresses: ['ada:1'] }) });
    const own = { member: 'ada', addresses: ['ada:1'], weights };
    const bob = (of?: string) => ({ member: 'bob', addresses: ['bob:1'], weights: of });
    const holders = async (...given: Parameters<typeof files.open>[1]) => (await files.open(id, given)).holders;
    expect(await holders()).toEqual([own]);
    expect(await holders(bob())).toEqual([own, bob()]);
    expect(await holders(bob(weights))).toEqual([own, bob(weights)]);
    expect(await holders({ ...own, addresses: [] }, bob(weights))).toEqual([own, bob(weights)]);
    expect(await holders(bob('f'.repeat(64)))).toEqual([bob('f'.repeat(64))]);
  } finally {
    await library.close();
    await hasher.close();
  }
});
