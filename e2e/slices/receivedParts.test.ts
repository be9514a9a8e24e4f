import { copyFile, readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LibraryActionsOptions, libraryActions } from '../../electron/gateway/libraryActions.ts';
import { withoutQuantisation } from '../../electron/gguf/modelId.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { Downloads } from '../../electron/library/download/downloads.ts';
import { LibrarySettingsFile } from '../../electron/library/librarySettings.ts';
import { ModelLibrary } from '../../electron/library/modelLibrary.ts';
import { fileSecretStore } from '../../electron/library/secretStore.ts';
import { SlicedModelFiles } from '../../electron/library/slices/slicedModelFiles.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { contentId, flipByte, SliceRoom, tensorAt } from './sliceRoom.ts';

const NAME = 'roomful-demo-q8_0';
const BAD = 'blk.5.ffn_up.weight';
let room: SliceRoom;
let home: string;
let library: ModelLibrary;
let model: string;

beforeEach(async () => {
  room = await SliceRoom.open();
  home = join(room.pool.home, 'member');
  library = await ModelLibrary.open({ home });
  model = await contentId(demoModelPath);
});
afterEach(async () => {
  await library.close();
  await room.close();
});

/** What the commands about models ask of a member that has received a stage of the demo and does not have its file. */
async function received(isServing: LibraryActionsOptions['isServing'] = () => false) {
  const path = join(room.pool.home, 'whole.gguf');
  await copyFile(demoModelPath, path);
  await utimes(path, 1e9, 1e9);
  const holder = await room.holder(path);
  const { store, folder } = await room.store();
  const request = { model, startLayer: 4, endLayer: 8, holders: [holder] };
  const lease = await store.provide(request, { signal: new AbortController().signal });
  const actions = libraryActions({
    speeds: () => new Map(),
    library,
    downloads: await Downloads.open({
      ...{ home, modelsFolder: library.modelsFolder, hub: 'http://127.0.0.1:9/', token: async () => null },
      here: library.here,
      take: (taken, put) => library.import(taken, put),
      onChange: () => {},
    }),
    secrets: fileSecretStore(home),
    stageFiles: store,
    limits: await LibrarySettingsFile.open(home),
    holders: async () => [holder],
    elsewhere: () => [],
    files: new SlicedModelFiles({ library, headers: store.headers, self: () => ({ member: 'own', addresses: [] }) }),
    catalogue: async () => [],
    demoModel: null,
    room: () => [],
    build: 'build',
    isServing,
  });
  return { actions, lease, folder };
}

test('verify names the tensor of a received part that decayed, and it is fetched again', async () => {
  const { actions, lease } = await received();
  await lease.release();
  const good = await readFile(lease.file.path);
  const part = await openModel(lease.file.path);
  // Layers are counted from 0 in a part.
  await flipByte(lease.file.path, tensorAt(part, 'blk.1.ffn_up.weight') + 100);
  const stage = { model, startLayer: 4, endLayer: 8 };
  const found = await actions.verifyStages({ model: NAME });
  expect(found).toEqual({ model, stages: [{ ...stage, damaged: [BAD], repaired: true }] });
  expect((await readFile(lease.file.path)).equals(good)).toBe(true);
  const again = await actions.verifyStages({ model: model.slice(0, 8) });
  expect(await actions.verifyStages({ model: withoutQuantisation(NAME).toUpperCase() })).toEqual(again);
  expect(again.stages).toEqual([{ ...stage, damaged: [], repaired: false }]);
});

test('a part that serves is named as damaged and not touched', async () => {
  const { actions, lease } = await received();
  const part = await openModel(lease.file.path);
  await flipByte(lease.file.path, tensorAt(part, 'blk.1.ffn_up.weight') + 100);
  const bad = await readFile(lease.file.path);
  expect((await actions.verifyStages({ model: NAME })).stages).toMatchObject([{ damaged: [BAD], repaired: false }]);
  expect((await readFile(lease.file.path)).equals(bad)).toBe(true);
});

test('rm frees what was received of a model, but nothing that serves, and says how much', async () => {
  const { actions, lease, folder } = await received();
  expect(await actions.removeModel({ model: NAME })).toEqual({ deleted: [], freedBytes: 0 });
  await readFile(lease.file.path);
  await lease.release();
  const { freedBytes } = await actions.removeModel({ model: NAME });
  expect(freedBytes).toBeGreaterThan(1e6);
  expect((await readdir(folder)).filter((name) => name !== 'running')).toEqual([]);
  await expect(actions.removeModel({ model: NAME })).rejects.toThrow(/No model of the library is called/);
  await expect(actions.verifyStages({ model: NAME })).rejects.toThrow(/No model of the library is called/);
});
