import { constants } from 'node:fs';
import { copyFile, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { modelShape } from '../gguf/modelShape.ts';
import type { CuratedModel } from '../library/curatedModels.ts';
import type { Downloads } from '../library/download/downloads.ts';
import { LibraryError } from '../library/libraryError.ts';
import type { LibrarySettingsFile } from '../library/librarySettings.ts';
import type { CatalogueModel, LibraryModel, LibraryState, StageCheck } from '../library/libraryState.ts';
import type { ModelLibrary } from '../library/modelLibrary.ts';
import type { SecretStore } from '../library/secretStore.ts';
import type { StageFileStore } from '../library/slices/stageFileStore.ts';
import type { ModelFiles, ModelHolder } from '../pipeline/forming/modelFiles.ts';
import { servingSizes } from '../pipeline/placement/servingSizes.ts';
import type { ModelServing } from '../pipeline/serving/modelServing.ts';
import { describedShape } from '../planner/describedShape.ts';
import type { Member } from '../planner/member.ts';
import { plan } from '../planner/plan.ts';
import { modelsElsewhere } from './modelsElsewhere.ts';
import type { MemberActions } from './window/memberState.ts';

/** The secret's name in the store. */
export const HUB_TOKEN = 'hub-token';

export interface LibraryActionsOptions {
  library: ModelLibrary;
  downloads: Downloads;
  secrets: SecretStore;
  stageFiles: Pick<StageFileStore, 'called' | 'keepBudget' | 'nameOf' | 'remove' | 'verify'>;
  limits: LibrarySettingsFile;
  /** Who else has the file of a model, by its content id. */
  holders: (model: string) => Promise<ModelHolder[]>;
  /** The models of the other members that are there. */
  elsewhere: () => ReturnType<ModelServing['heldElsewhere']>;
  files: Pick<ModelFiles, 'open'>;
  catalogue: () => Promise<CuratedModel[]>;
  /** The members that live, as the planner sees them. */
  room: () => Member[];
  /** See `ModelServing.stageSpeeds`. */
  speeds: ModelServing['stageSpeeds'];
  /** Commit of llama.cpp that members must run. */
  build: string;
  /** The model that came with Roomful; null where none did. */
  demoModel: string | null;
  /** Whether a model is being served. */
  isServing: (model: { name: string }) => boolean;
}

/** The methods of the contract that are about models. */
export type LibraryMethod =
  | 'library'
  | 'modelShape'
  | 'modelSpeeds'
  | 'importModel'
  | 'takeDemoModel'
  | 'removeModel'
  | 'removeModelFolder'
  | 'verifyModel'
  | 'verifyStages'
  | 'stopVerifying'
  | 'limits'
  | 'changeLimits'
  | 'pullModel'
  | 'stopPull'
  | 'setHubToken'
  | 'catalogue';

/** What the contract's methods about models do. Each rejects with LibraryError or GgufError. */
export function libraryActions(options: LibraryActionsOptions): Pick<MemberActions, LibraryMethod> {
  const { library, downloads, secrets, stageFiles } = options;
  const state = (): LibraryState => libraryState(options);
  return {
    library: async () => {
      await library.lookAtFiles();
      return state();
    },
    modelShape: async ({ model }) => {
      const found = library.find(model);
      const holders = found?.state === 'ready' ? [] : await options.holders(model);
      if (holders.length === 0) return modelShape(await library.open(library.called(model).id));
      return (await options.files.open(model, holders)).shape;
    },
    modelSpeeds: async ({ model }) => ({
      speeds: Object.fromEntries([...options.speeds(model)].filter(([, speed]) => speed !== 1)),
    }),
    importModel: async ({ path, copies }) => {
      if (copies !== undefined) return { models: [await library.importCopies(copies)] };
      return { models: await importPath(library, path) };
    },
    takeDemoModel: async () => ({ models: [await takeDemoModel(library, options.demoModel)] }),
    removeModel: async ({ model, deleteFiles }) => {
      const found = library.find(model);
      const id = found?.id ?? (await stageFiles.called(model)) ?? library.called(model).id;
      const name = found?.name ?? (await stageFiles.nameOf(id));
      if (found !== null && options.isServing(found)) {
        throw new LibraryError('Busy', `${name} is being served. Stop it first.`);
      }
      const deleted = found === null ? [] : await library.remove(id, { deleteFiles });
      return { deleted, freedBytes: await stageFiles.remove(id) };
    },
    removeModelFolder: async ({ path }) => {
      await library.removeFolder(path);
      return state();
    },
    verifyModel: async ({ model }) => {
      const { id } = library.called(model);
      // What it finds is in the library, why it did not end as well.
      library.verify(id).catch(() => {});
      return library.called(id);
    },
    verifyStages: async ({ model: called }) => {
      const model = library.find(called)?.id ?? (await stageFiles.called(called)) ?? library.called(called).id;
      const stages: StageCheck[] = [];
      const holders = await options.holders(model);
      for await (const check of stageFiles.verify({ model, holders }, new AbortController().signal)) stages.push(check);
      return { model, stages };
    },
    limits: async () => options.limits.current,
    changeLimits: async (change) => {
      const limits = await options.limits.change(change);
      if (change.diskBytes !== undefined) await stageFiles.keepBudget();
      return limits;
    },
    stopVerifying: async ({ model }) => {
      const { id } = library.called(model);
      library.stopVerifying(id);
      return library.called(id);
    },
    pullModel: async ({ reference }) => downloads.begin(reference),
    stopPull: async ({ download, discard }) => {
      await downloads.stop(download, { discard: discard ?? false });
      return state();
    },
    setHubToken: async ({ token }) => {
      await secrets.write(HUB_TOKEN, token?.trim() ?? null);
      return { place: secrets.place };
    },
    catalogue: async () => {
      const room = options.room();
      return { models: (await options.catalogue()).map((model) => fitting(model, room, options.build)) };
    },
  };
}

/** The value of the topic `library`. */
export function libraryState({
  library,
  downloads,
  elsewhere,
  demoModel,
}: Pick<LibraryActionsOptions, 'library' | 'downloads' | 'elsewhere' | 'demoModel'>): LibraryState {
  const own = library.state();
  return {
    ...own,
    elsewhere: modelsElsewhere(own.models, elsewhere()),
    hasDemoModel: demoModel !== null,
    downloads: downloads.list(),
  };
}

/** It is copied: what an AppImage brings along lies elsewhere at every start. */
async function takeDemoModel(library: ModelLibrary, demoModel: string | null): Promise<LibraryModel> {
  if (demoModel === null) throw new LibraryError('UnknownModel', 'No demo model came with this Roomful.');
  const copy = join(library.modelsFolder, 'roomful-demo.gguf');
  await copyFile(demoModel, copy, constants.COPYFILE_FICLONE);
  return library.importCopies([copy]);
}

/** A folder is watched from now on, and what it holds already is answered. */
async function importPath(library: ModelLibrary, path: string): Promise<LibraryModel[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return [await library.import(path)];
  await library.addFolder(path);
  const within = resolve(path) + sep;
  return library.state().models.filter(({ files }) => files.some((file) => file.startsWith(within)));
}

function fitting(model: CuratedModel, room: readonly Member[], build: string): CatalogueModel {
  const { name, reference, about, licence, bytes, parameters, contextLength } = model;
  const shape = describedShape(model);
  const { contextLength: context, slots, batch, kvType } = servingSizes(shape, {});
  const sizes = { contextLength: context, slots, batch, kvType };
  const decided = plan(room, shape, { ...sizes, referenceCommit: build, maxReplicas: 1 });
  const fits = decided.fit !== 'DoesNotFit';
  return {
    ...{ name, reference, about, licence, bytes, parameters, contextLength },
    fit: decided.fit,
    hops: fits ? decided.hops : null,
    tokensPerSecond: decided.prediction?.tokensPerSecond ?? null,
    missingBytes: decided.shortfall?.missingBytes ?? null,
  };
}
