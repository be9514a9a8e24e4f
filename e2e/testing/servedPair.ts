import { join } from 'node:path';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { StageService } from '../../electron/pipeline/forming/stageService.ts';
import type { RoomMember } from '../../electron/pipeline/placement/servingRoom.ts';
import { servingSizes } from '../../electron/pipeline/placement/servingSizes.ts';
import { SpeedTruthFile } from '../../electron/pipeline/placement/speedTruthFile.ts';
import { KeptServes } from '../../electron/pipeline/serving/keptServes.ts';
import { ModelServing, type ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import { memoryToShare } from '../../electron/planner/stageBytes.ts';
import { EpochFence } from '../../electron/pool/epochFence.ts';
import type { PoolTrust } from '../../electron/pool/trust/poolTrust.ts';
import { EngineKeeper } from '../../electron/stage/engineKeeper.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { RingServer } from '../../electron/wire/ringServer.ts';
import { WIRE_VERSION } from '../../electron/wire/wireVersion.ts';
import { demoModelPath } from './demoCorpus.ts';
import { DiskModel } from './diskModel.ts';
import { type MemberWork, type TrustMember, TrustRoom } from './trustMember.ts';

const BUILD = 'b';

/** One coordinator, and two members with room for half of the demo model each, all in this process. */
export class ServedPair {
  readonly room: TrustRoom;
  readonly ada: TrustMember;
  readonly bob: TrustMember;
  readonly cyd: TrustMember;
  readonly models: ModelServing;
  /** What bob and cyd run, by name. */
  readonly stages: ReadonlyMap<string, StageService>;
  /** Signs of life, as they came. */
  readonly seen: readonly { by: string; member: string }[];
  readonly #engine: EngineKeeper;

  private constructor(parts: Omit<ServedPair, 'serve' | 'close'>, engine: EngineKeeper) {
    this.room = parts.room;
    this.ada = parts.ada;
    this.bob = parts.bob;
    this.cyd = parts.cyd;
    this.models = parts.models;
    this.stages = parts.stages;
    this.seen = parts.seen;
    this.#engine = engine;
  }

  /** With a `bandwidth` bob and cyd have profiles that say so, in bytes per second. */
  static async open({ bandwidth }: { bandwidth?: number } = {}): Promise<ServedPair> {
    const room = await TrustRoom.open();
    const stages = new Map<string, StageService>();
    const seen: { by: string; member: string }[] = [];
    const onAlive = (by: string) => (member: string) => void seen.push({ by, member });
    const engine = await EngineKeeper.start(nodeLauncher, () => {});
    const ring = new RingServer();
    const ada = await room.start('ada', 'ada', () => ({ services: [ring.service] }));
    await ada.trust.create('pool');
    const shape = modelShape(await openModel(demoModelPath));
    const layers = shape.layers.length;
    const middle = Math.ceil(layers / 2);
    const share = (start: number, end: number): number =>
      memoryToShare(shape, { start, end }, servingSizes(shape, {}), { leads: false, deviceClass: 'cpu' });
    const known: RoomMember[] = [];
    const begin = async (name: string, memoryBytes: number): Promise<TrustMember> => {
      const work = worker(name, { room, shareBytes: memoryBytes, onAlive: onAlive(name), stages });
      const member = await room.start(name, name, work);
      await member.join((await ada.trust.invite()).token);
      const { id, server } = member;
      const facts = { backend: 'Cpu' as const, memoryBytes, ...(bandwidth !== undefined && { bandwidth }) };
      const there = { id, name, self: false, address: server.address, facts, link: null, ways: [] };
      // Nobody has to follow them: they drive nothing.
      if (bandwidth !== undefined) known.push({ ...there, state: 'lost' });
      return member;
    };
    const bob = await begin('bob', share(0, middle));
    const cyd = await begin('cyd', share(middle, layers));
    const files = new DiskModel(demoModelPath, join(room.folder, 'stages'));
    const models = new ModelServing({
      coordinator: { member: ada.id, tls: ada.trust.tls, ring, address: ada.server.address, onAlive: onAlive('ada') },
      engine,
      files,
      held: { list: () => [], onChange: () => () => {} },
      draftHost: { engine, stageFiles: files, threads: 1, gpuLayers: 0, onProblem: () => {} },
      kept: await KeptServes.open(join(room.folder, 'serves.json')),
      // So that the cut stays where the shares have put it.
      memory: { extraBytes: () => 0, learn: async () => {} },
      speeds: await SpeedTruthFile.open(join(room.folder, 'speeds.json')),
      folder: join(room.folder, 'serving'),
      build: BUILD,
      wireVersion: WIRE_VERSION,
      epoch: async () => ({ counter: 1, coordinator: ada.id }),
      room: {
        members: () => known,
        leader: () => ada.id,
        memberAt: async () => ada.id,
        onChange: () => () => {},
      },
    });
    return new ServedPair({ room, ada, bob, cyd, models, stages, seen }, engine);
  }

  /** The demo model over both, without drafts. */
  serve(): Promise<ServingModel> {
    const members = [this.bob, this.cyd].map(({ id, server }) => ({ id, address: server.address }));
    const request = { modelPath: demoModelPath, members, mostDrafts: 0 };
    return this.models.serve(request, () => {}, new AbortController().signal);
  }

  async close(): Promise<void> {
    await this.models.close();
    await Promise.all([...this.stages.values()].map((service) => service.settled()));
    await this.#engine.close();
    await this.room.close();
  }
}

/** A member that runs stages, and shares as much as it is told. */
const worker =
  (
    name: string,
    {
      room,
      shareBytes,
      onAlive,
      stages,
    }: Pick<ServedPair, 'room'> & {
      shareBytes: number;
      onAlive: (member: string) => void;
      stages: Map<string, StageService>;
    },
  ) =>
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
      onAlive,
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
