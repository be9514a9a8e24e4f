import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { StageService } from '../../electron/pipeline/forming/stageService.ts';
import { MemoryTruthFile } from '../../electron/pipeline/placement/memoryTruthFile.ts';
import { servingSizes } from '../../electron/pipeline/placement/servingSizes.ts';
import { KeptServes } from '../../electron/pipeline/serving/keptServes.ts';
import { ModelServing } from '../../electron/pipeline/serving/modelServing.ts';
import { memoryToShare } from '../../electron/planner/stageBytes.ts';
import { EpochFence } from '../../electron/pool/epochFence.ts';
import type { PoolTrust } from '../../electron/pool/trust/poolTrust.ts';
import { EngineKeeper } from '../../electron/stage/engineKeeper.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { RingServer } from '../../electron/wire/ringServer.ts';
import { WIRE_VERSION } from '../../electron/wire/wireVersion.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { DiskModel } from '../testing/diskModel.ts';
import { eventually } from '../testing/eventually.ts';
import { processTree } from '../testing/processTree.ts';
import { type MemberWork, type TrustMember, TrustRoom } from '../testing/trustMember.ts';

const BUILD = 'b';
let room: TrustRoom;
let engine: EngineKeeper;
let models: ModelServing;
let ada: TrustMember;
let bob: TrustMember;
let cyd: TrustMember;
let stages: Map<string, StageService>;
let seen: { by: string; member: string }[];

/** A member that runs stages, and shares as much as it is told. */
const worker =
  (name: string, shareBytes: number) =>
  (trust: PoolTrust): MemberWork => {
    const fence = EpochFence.open(join(room.folder, name), trust.pool?.id ?? '');
    const service = new StageService({
      launcher: nodeLauncher,
      get tls() {
        return trust.tls;
      },
      host: '127.0.0.1',
      files: new DiskModel(demoModelPath, join(room.folder, name, 'stages')),
      threads: 1,
      gpuLayers: 0,
      freeBytes: async () => null,
      admitEpoch: async (epoch) => (await fence).admit(epoch),
      onAlive: (member) => seen.push({ by: name, member }),
    });
    stages.set(name, service);
    return {
      handlers: {
        hello: async () => ({
          wireVersion: WIRE_VERSION,
          build: BUILD,
          member: trust.self.id,
          name,
          shareBytes,
          backend: 'cpu',
        }),
        runStage: (order, { emit, signal }) => service.run(order, emit, signal),
        linkStage: (order) => service.link(order),
      },
    };
  };

const hosts = (): string[] =>
  processTree(process.pid)
    .map(({ command }) => command)
    .filter((command) => command.includes('stageHost'));

beforeEach(async () => {
  room = await TrustRoom.open();
  stages = new Map();
  seen = [];
  engine = await EngineKeeper.start(nodeLauncher, () => {});
  const ring = new RingServer();
  ada = await room.start('ada', 'ada', () => ({ services: [ring.service] }));
  await ada.trust.create('pool');
  const shape = modelShape(await openModel(demoModelPath));
  const layers = shape.layers.length;
  const middle = Math.ceil(layers / 2);
  const share = (start: number, end: number): number =>
    memoryToShare(shape, { start, end }, servingSizes(shape, {}), { leads: false, deviceClass: 'cpu' });
  bob = await room.start('bob', 'bob', worker('bob', share(0, middle)));
  cyd = await room.start('cyd', 'cyd', worker('cyd', share(middle, layers)));
  for (const member of [bob, cyd]) await member.join((await ada.trust.invite()).token);
  const files = new DiskModel(demoModelPath, join(room.folder, 'stages'));
  models = new ModelServing({
    coordinator: {
      member: ada.id,
      tls: ada.trust.tls,
      ring,
      address: ada.server.address,
      onAlive: (member) => seen.push({ by: 'ada', member }),
    },
    engine,
    files,
    held: { list: () => [], onChange: () => () => {} },
    draftHost: { engine, stageFiles: files, threads: 1, gpuLayers: 0, onProblem: () => {} },
    kept: await KeptServes.open(join(room.folder, 'serves.json')),
    memory: await MemoryTruthFile.open(join(room.folder, 'memory.json')),
    folder: join(room.folder, 'serving'),
    build: BUILD,
    wireVersion: WIRE_VERSION,
    epoch: async () => ({ counter: 1, coordinator: ada.id }),
    room: {
      members: () => [],
      leader: () => ada.id,
      memberAt: async () => ada.id,
      onChange: () => () => {},
    },
  });
  const request = {
    modelPath: demoModelPath,
    members: [bob, cyd].map(({ id, server }) => ({ id, address: server.address })),
  };
  const { placement } = await models.serve(request, () => {}, new AbortController().signal);
  expect(placement).toHaveLength(2);
  expect(hosts()).toHaveLength(2);
});

afterEach(async () => {
  await models.close();
  await Promise.all([...stages.values()].map((service) => service.settled()));
  await engine.close();
  await room.close();
});

const onGone = ({ trust }: TrustMember, drop: (id: string) => void): void => {
  trust.onChange((event) => {
    if (event.kind === 'RosterChanged') for (const id of event.gone) drop(id);
  });
};

test('the coordinator ends what has a stage on a removed member; nothing is left running anywhere', async () => {
  let dropped: Promise<void> = Promise.resolve();
  onGone(ada, (id) => {
    dropped = models.dropMember(id);
  });
  await ada.trust.remove(bob.id);
  await dropped;
  expect(models.list()).toEqual([]);
  await eventually(() => expect(hosts()).toEqual([]));
});

test('frames show who lives to those who take them, and that the stages compute', async () => {
  const computed = async (by: string, expected: boolean) =>
    eventually(() => expect(stages.get(by)?.takeComputed()).toBe(expected));
  for (const by of ['bob', 'cyd']) await computed(by, true);
  expect(seen).toContainEqual({ by: 'ada', member: bob.id });
  expect(seen).toContainEqual({ by: 'ada', member: cyd.id });
  expect(seen).toContainEqual({ by: 'bob', member: ada.id });
  expect(seen).toContainEqual({ by: 'cyd', member: bob.id });
  for (const by of ['bob', 'cyd']) await computed(by, false);
});

test('a member ends its stage beside that of a removed member by itself', async () => {
  onGone(bob, (id) => stages.get('bob')?.dropMember(id));
  cyd.reachable = false;
  await ada.trust.remove(cyd.id);
  await eventually(() => expect(hosts()).toEqual([]));
  // The removed one has not even heard of it.
  expect(cyd.trust.pool).not.toBeNull();
  cyd.reachable = true;
});
