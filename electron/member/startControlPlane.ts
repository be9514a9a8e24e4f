import { StageService } from '../pipeline/forming/stageService.ts';
import { formatAddress, parseAddress } from '../pool/socketAddress.ts';
import { guardServer } from '../pool/trust/guardServer.ts';
import { memberService } from '../wire/memberService.ts';
import { RingServer } from '../wire/ringServer.ts';
import { ServingServer } from '../wire/servingServer.ts';
import { WireServer } from '../wire/wireServer.ts';
import { WIRE_VERSION } from '../wire/wireVersion.ts';
import { LOOPBACK } from './loopback.ts';
import type { Models } from './openModels.ts';
import type { Pool } from './openPool.ts';
import type { Ground } from './startGround.ts';
import type { Machine } from './startMachine.ts';

/** What other members may ask of this one. */
export interface ControlPlane {
  readonly stages: StageService;
  readonly ring: RingServer;
  /** What is asked about models that serve. */
  readonly calls: ServingServer;
  readonly port: number;
  /** `host:port` at which the others reach it, the best of its cards. */
  ownAddress(): string;
}

/** Starts the server for the other members, and the stages that they may order. */
export async function startControlPlane(
  ground: Ground,
  machine: Machine,
  { pool, term }: Pool,
  models: Models,
): Promise<ControlPlane> {
  const { options, build, launcher, closers } = ground;
  const { trust } = pool;
  const stages = new StageService({
    launcher,
    get tls() {
      return trust.tls;
    },
    get host() {
      return pool.hosts()[0] ?? LOOPBACK;
    },
    files: models.stageFiles,
    threads: options.threads,
    gpuLayers: machine.gpuLayers,
    freeBytes: () => machine.freeBytes(),
    admitEpoch: (epoch) => term.admit(epoch),
    onProblem: ground.warn('a part of a model is damaged'),
    onAlive: (member) => pool.noteProgress(member),
  });
  const ring = new RingServer();
  const calls = new ServingServer();
  const control = memberService({
    self: () => trust.self.id,
    hello: async () => ({
      wireVersion: WIRE_VERSION,
      build,
      member: trust.self.id,
      name: trust.self.name,
      shareBytes: machine.shareBytes(),
      backend: machine.backend,
    }),
    runStage: (order, { emit, signal }) => stages.run(order, emit, signal),
    linkStage: (order) => stages.link(order),
  });
  const server = await WireServer.start({
    tls: trust.tls,
    host: pool.listenHost,
    port: options.port ?? 0,
    services: [control, ring.service, calls.service, models.slices.service, ...pool.services],
    sliceStreams: models.slices.streams,
    admits: (member) => trust.admits(member),
  });
  closers.add(
    () => stages.settled(),
    () => server.close(),
    async () => calls.close(),
    () => pool.close(),
  );
  guardServer(trust, server);
  const port = parseAddress(server.address)?.port ?? 0;
  const ownAddress = (): string => pool.addresses()[0] ?? formatAddress({ host: LOOPBACK, port });
  trust.onChange((event) => {
    if (event.kind !== 'PoolChanged' && event.kind !== 'RosterChanged') return;
    for (const member of event.gone) stages.dropMember(member);
  });
  return { stages, ring, calls, port, ownAddress };
}
