import { join } from 'node:path';
import { heldModels } from '../gateway/modelsElsewhere.ts';
import type { MemoryTruthFile } from '../pipeline/placement/memoryTruthFile.ts';
import type { SpeedTruthFile } from '../pipeline/placement/speedTruthFile.ts';
import type { KeptServes } from '../pipeline/serving/keptServes.ts';
import { ModelServing } from '../pipeline/serving/modelServing.ts';
import { WIRE_VERSION } from '../wire/wireVersion.ts';
import { BringBack } from './bringBack.ts';
import { Changes } from './changes.ts';
import type { Models } from './openModels.ts';
import type { Pool } from './openPool.ts';
import { poolRoom } from './poolRoom.ts';
import type { ControlPlane } from './startControlPlane.ts';
import type { Ground } from './startGround.ts';
import type { Machine } from './startMachine.ts';

/** What this member serves, or leads. */
export interface Serving {
  readonly models: ModelServing;
  /** Of what serves. */
  readonly modelChanges: Changes;
  /** Begins once the pool has. */
  readonly bringBack: BringBack;
}

/** What serving stands on, beside the member itself. */
export interface ServingParts {
  control: ControlPlane;
  models: Pick<Models, 'files' | 'library' | 'stageFiles'>;
  memory: MemoryTruthFile;
  speeds: SpeedTruthFile;
  kept: KeptServes;
}

export function startServing(
  ground: Ground,
  { engine, profile, gpuLayers }: Machine,
  { pool, term }: Pool,
  { control: { ring, ownAddress, calls }, models: { files, library, stageFiles }, memory, speeds, kept }: ServingParts,
): Serving {
  const { options, home, build, changes, closers } = ground;
  const { trust } = pool;
  const modelChanges = new Changes();
  const room = poolRoom({ pool, changes, ownProfile: () => profile?.current ?? null, ownAddress });
  const models = new ModelServing({
    coordinator: {
      get member() {
        return trust.self.id;
      },
      get tls() {
        return trust.tls;
      },
      get address() {
        return ownAddress();
      },
      ring,
      onAlive: (member) => pool.noteProgress(member),
    },
    engine,
    files,
    held: { list: () => heldModels(library.state().models), onChange: (listener) => changes.on(listener) },
    memory,
    speeds,
    draftHost: {
      engine,
      stageFiles,
      threads: options.threads,
      gpuLayers,
      onProblem: ground.warn('nothing could be drafted'),
    },
    folder: join(home, 'serving'),
    build,
    wireVersion: WIRE_VERSION,
    epoch: () => term.epoch(),
    room,
    kept,
    onChange: () => modelChanges.tell(),
    onProblem: ground.warn('something is wrong with what another member serves'),
    ...(options.route && { route: options.route }),
  });
  const onProblem = ground.warn('a model was not served again after a restart');
  const bringBack = new BringBack({ kept, models, room, onProblem });
  closers.add(() => models.close());
  closers.add(async () => bringBack.close());
  calls.attach(models.handlers());
  trust.onChange((event) => {
    if (event.kind !== 'PoolChanged' && event.kind !== 'RosterChanged') return;
    for (const member of event.gone) {
      models.dropMember(member).catch(ground.warn('a model did not end well'));
    }
  });
  return { models, modelChanges, bringBack };
}
