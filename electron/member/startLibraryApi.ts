import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HUB_TOKEN, libraryActions, libraryState } from '../gateway/libraryActions.ts';
import { derivedTopic } from '../gateway/window/derivedTopic.ts';
import type { TopicSource } from '../gateway/window/memberState.ts';
import { readCuratedModels } from '../library/curatedModels.ts';
import { Downloads } from '../library/download/downloads.ts';
import { DEFAULT_HUB } from '../library/download/hubClient.ts';
import type { LibraryState } from '../library/libraryState.ts';
import { fileSecretStore } from '../library/secretStore.ts';
import type { Member } from '../planner/member.ts';
import type { Models } from './openModels.ts';
import type { Ground } from './startGround.ts';
import type { Serving } from './startServing.ts';

/** The library as windows and commands ask for it. */
export interface LibraryApi {
  readonly actions: ReturnType<typeof libraryActions>;
  readonly topic: TopicSource<LibraryState>;
  /** Where downloads lie, and what is dropped on a window in a browser. */
  readonly modelsFolder: string;
}

export interface LibraryApiOptions {
  models: Pick<Models, 'library' | 'files' | 'stageFiles' | 'limits'>;
  serving: Pick<Serving, 'models' | 'modelChanges'>;
  room: () => Member[];
}

/** Lets models be fetched, and answers for the library. */
export async function startLibraryApi(
  { options, home, build, changes, closers }: Ground,
  { models: { library, files, stageFiles, limits }, serving, room }: LibraryApiOptions,
): Promise<LibraryApi> {
  const secrets = options.secrets ?? fileSecretStore(home);
  const downloads = await Downloads.open({
    home,
    modelsFolder: library.modelsFolder,
    hub: hubAddress(process.env.HF_ENDPOINT),
    token: async () => (await secrets.read(HUB_TOKEN)) ?? (process.env.HF_TOKEN || null),
    take: (path, put) => library.import(path, put),
    here: library.here,
    onChange: () => changes.tell(),
  });
  closers.add(() => downloads.close());
  const elsewhere = () => serving.models.heldElsewhere();
  const catalogue = () => readCuratedModels(resourcePath('models.json', join(home, 'catalogue.json')));
  const bundled = resourcePath('demo/demo.gguf', options.demoModel);
  const demoModel = existsSync(bundled) ? bundled : null;
  return {
    modelsFolder: library.modelsFolder,
    actions: libraryActions({
      ...{ library, downloads, secrets, catalogue, demoModel, room, build, files, stageFiles, limits, elsewhere },
      isServing: ({ name }) => serving.models.list().some(({ id }) => id === name),
      holders: (model) => serving.models.holdersOf(model),
      speeds: (model) => serving.models.stageSpeeds(model),
    }),
    topic: derivedTopic(
      () => libraryState({ library, downloads, elsewhere, demoModel }),
      (listener) => {
        const forgets = [changes.on(listener), serving.modelChanges.on(listener)];
        return () => {
          for (const forget of forgets) forget();
        };
      },
    ),
  };
}

/** As the hub's own tools and llama.cpp take it. */
function hubAddress(given: string | undefined): string {
  if (!given || !URL.canParse(given)) return DEFAULT_HUB;
  return given.endsWith('/') ? given : `${given}/`;
}

/** A file that comes with Roomful, unless it lies where the owner or the app has one. */
function resourcePath(name: string, own: string | undefined): string {
  const here = import.meta.url;
  return own !== undefined && existsSync(own)
    ? own
    : fileURLToPath(new URL(`${here.endsWith('.ts') ? '../..' : '../../..'}/resources/${name}`, here));
}
