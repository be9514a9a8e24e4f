import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { LibraryError } from '../library/libraryError.ts';
import { LibrarySettingsFile } from '../library/librarySettings.ts';
import { ModelLibrary } from '../library/modelLibrary.ts';
import { FileHasher } from '../library/slices/fileHasher.ts';
import { HolderPeers } from '../library/slices/holderPeers.ts';
import { LibraryHeld } from '../library/slices/libraryHeld.ts';
import { SlicedModelFiles } from '../library/slices/slicedModelFiles.ts';
import { SliceGate } from '../library/slices/sliceGate.ts';
import { SliceHolder } from '../library/slices/sliceHolder.ts';
import { StageFileStore } from '../library/slices/stageFileStore.ts';
import type { ModelFiles } from '../pipeline/forming/modelFiles.ts';
import { SliceStreams } from '../wire/sliceStreams.ts';
import { slicesService } from '../wire/slicesService.ts';
import type { ServedService } from '../wire/wireServer.ts';
import type { Pool } from './openPool.ts';
import type { Ground } from './startGround.ts';

/** A disk gives no more than so many threads hash. */
const MOST_HASHERS = 4;

/** The models of this member, and the parts of models that its stages run. */
export interface Models {
  readonly library: ModelLibrary;
  readonly files: ModelFiles;
  readonly stageFiles: StageFileStore;
  /** What models may take of this machine. */
  readonly limits: LibrarySettingsFile;
  /** What other members may ask for. */
  readonly slices: { service: ServedService; streams: SliceStreams };
}

/** Opens the library and the stage files. `isComputing` says whether a stage computes here now. */
export async function openModels(ground: Ground, { pool }: Pool, isComputing: () => boolean): Promise<Models> {
  const { home, options, changes, closers } = ground;
  const { trust } = pool;
  const onProblem = ground.warn('something is wrong with a model');
  const library = await ModelLibrary.open({ home, onChange: () => changes.tell(), onProblem });
  closers.add(() => library.close());
  // What is loaded waits for it, and most of its load is not work for the processor.
  const hasher = new FileHasher(Math.min(MOST_HASHERS, Math.ceil(availableParallelism() / 2)));
  closers.add(() => hasher.close());
  const held = new LibraryHeld(library, hasher);
  const peers = new HolderPeers({
    tls: () => trust.tls,
    route: options.route,
    others: () =>
      pool.members().flatMap(({ id, name, self, state, address }) => {
        return self || state !== 'alive' || address === null ? [] : [{ member: id, name, addresses: [address] }];
      }),
  });
  const limits = await LibrarySettingsFile.open(home);
  const settings = () => limits.current;
  const stageFiles = await StageFileStore.open({
    folder: join(home, 'slices'),
    self: () => trust.self.id,
    held,
    peers,
    hasher,
    gate: new SliceGate({ settings, isLoaded: () => false }),
    budget: () => limits.current.diskBytes,
    onProblem,
  });
  closers.add(() => stageFiles.close());
  const gate = new SliceGate({ settings, isLoaded: isComputing });
  const source = new SliceHolder({
    held,
    parts: (model) => stageFiles.parts(model),
    gate,
    hasher,
    // What it finds is in the library; a model that is not good is not given to anybody any more.
    onDamaged: (model) => {
      stageFiles.suspect(model);
      if (library.find(model) === null) return;
      library
        .verify(model)
        .finally(() => held.forget(model))
        .catch((cause: unknown) => {
          if (!(cause instanceof LibraryError && cause.code === 'Busy')) onProblem(cause);
        });
    },
  });
  const self = () => ({ member: trust.self.id, addresses: pool.addresses() });
  return {
    library,
    files: new SlicedModelFiles({ library, headers: stageFiles.headers, self }),
    stageFiles,
    limits,
    slices: {
      service: slicesService(source),
      streams: new SliceStreams({ source, gate, admits: (member) => trust.admits(member) }),
    },
  };
}
