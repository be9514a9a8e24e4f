import { rm } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { createGateway } from './gateway/createGateway.ts';
import { forgetGateway, noteGateway } from './gateway/gatewayNote.ts';
import { localToken } from './gateway/http/localToken.ts';
import type { MemberApi } from './gateway/memberApi.ts';
import { memberRoutes } from './gateway/memberRoutes.ts';
import { serveWindow } from './gateway/memberSocket.ts';
import { poolActions } from './gateway/poolActions.ts';
import { serveRoutes } from './gateway/serveRoutes.ts';
import { localMemberApi, MemberStateStore } from './gateway/window/memberState.ts';
import { readRendererFiles } from './gateway/window/rendererFiles.ts';
import { WindowAccess } from './gateway/window/windowAccess.ts';
import { ModelServing } from './pipeline/modelServing.ts';
import { StageService } from './pipeline/stageService.ts';
import { EpochFences } from './pool/epochFences.ts';
import { makeDataFolder } from './pool/makeDataFolder.ts';
import { OwnTerm } from './pool/ownTerm.ts';
import { PoolMember } from './pool/poolMember.ts';
import { cardOf } from './pool/profile/cardOf.ts';
import { MemberProfile } from './pool/profile/memberProfile.ts';
import { formatAddress, parseAddress } from './pool/socketAddress.ts';
import { guardServer } from './pool/trust/guardServer.ts';
import { EngineKeeper } from './stage/engineKeeper.ts';
import type { HostLauncher } from './stage/hostLauncher.ts';
import { notingLauncher, reapLeftovers } from './stage/hostLeftovers.ts';
import type { Backend } from './stage/librariesFolder.ts';
import { LLAMA_CPP_COMMIT } from './stage/llamaBuild.ts';
import { memberService } from './wire/memberService.ts';
import { RingServer } from './wire/ringServer.ts';
import { WireServer } from './wire/wireServer.ts';
import { WIRE_VERSION } from './wire/wireVersion.ts';

export interface MemberOptions {
  /** Data folder. */
  home: string;
  name: string;
  /** Bytes of memory that this member shares; where left out what is free, or on loopback half of the memory. */
  memoryBytes?: number;
  /** Threads of each stage. */
  threads: number;
  /** Starts the processes that load native code. */
  launcher: HostLauncher;
  /** Lets other members find this one on the LAN; where left out it stays on loopback. */
  lan?: { multicast: boolean };
  /** Port of the control plane, 0 or left out for any free one. */
  port?: number;
  /** Port of the gateway, 0 or left out for any free one. */
  gatewayPort?: number;
  /** Folder of the built window, which the gateway then serves. */
  windowFolder?: string;
  /** The address by which this member reaches another; the identity where left out. */
  route?: (address: string) => string | Promise<string>;
}

export interface Member {
  readonly id: string;
  readonly name: string;
  /** Control plane, `host:port`. */
  readonly address: string;
  /** The same for every network card, the best first. */
  readonly addresses: readonly string[];
  /** Origin of the gateway, on loopback. */
  readonly gateway: string;
  /** File with the local token, readable by its owner only. */
  readonly tokenFile: string;
  readonly models: ModelServing;
  readonly state: MemberStateStore;
  /** What the window and the command line may ask. */
  readonly api: MemberApi;
  /** A new link that opens the window in a browser, once. */
  windowLink(): string;
  /** Ends what it serves and every process that it started. */
  close(): Promise<void>;
}

/** Starts a member: control plane, gateway, engine host. Rejects with one plain line, and then nothing is left running. */
export async function startMember(options: MemberOptions): Promise<Member> {
  const { home, threads, memoryBytes = Math.floor(totalmem() / 2) } = options;
  makeDataFolder(home);
  const logFile = join(home, 'roomful.log');
  const log = pino({ level: 'info' }, pino.destination({ dest: logFile, sync: false, mode: 0o600 }));
  const build = LLAMA_CPP_COMMIT;
  await reapLeftovers(home);
  // Of a run that was killed; its models are not served any more.
  for (const left of ['stages', 'serving']) await rm(join(home, left), { recursive: true, force: true });
  const launcher = notingLauncher(options.launcher, home);
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const closer of closers.splice(0).reverse()) await closer().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  };
  try {
    const engine = await EngineKeeper.start(launcher, (error) => log.error({ err: error }, 'the engine host is gone'));
    closers.push(() => engine.close());
    const backend = await computingBackend(engine);
    const warn = (cause: unknown): void => log.warn({ err: cause }, 'something is wrong with what this machine shares');
    // A member that nobody finds tells nobody of its machine, and its sizes are given.
    const profile =
      options.lan === undefined
        ? null
        : await MemberProfile.start({
            home,
            launcher,
            threads,
            build,
            memoryBytes: options.memoryBytes,
            isServing: () => stages.isRunning,
            onProblem: warn,
          });
    if (profile !== null) {
      const refresh = setInterval(() => void profile.refresh().catch(warn), REFRESH_PROFILE_MS);
      closers.push(() => {
        clearInterval(refresh);
        return profile.close();
      });
    }
    // An order for a paused member is planned for no memory at all, which is written as the least there can be.
    const shareBytes = (): number => (profile === null ? memoryBytes : Math.max(1, cardOf(profile.current).shareBytes));
    const changed = new Set<() => void>();
    const pool = await PoolMember.open({
      home,
      name: options.name,
      lan: options.lan ?? null,
      card: { build, wireVersion: WIRE_VERSION, shareBytes: memoryBytes, pinned: false, abstains: false },
      profile,
      onChange: () => {
        for (const listener of [...changed]) listener();
      },
      onProblem: (cause) => log.warn({ err: cause }, 'something is wrong with the pool'),
    });
    // Should the control plane not start; otherwise it is closed before that.
    closers.push(() => pool.close());
    const { trust } = pool;
    const fences = new EpochFences(home, trust);
    changed.add(() => {
      const epoch = pool.epoch();
      // What cannot be kept now is tried again at the next order.
      if (epoch !== null)
        fences.raise(epoch).catch((cause: unknown) => log.warn({ err: cause }, 'an epoch was not kept'));
    });
    const stages = new StageService({
      launcher,
      get tls() {
        return trust.tls;
      },
      get host() {
        return pool.hosts()[0] ?? LOOPBACK;
      },
      folder: join(home, 'stages'),
      threads,
      gpuLayers: backend === 'cpu' ? 0 : ALL_LAYERS,
      admitEpoch: (epoch) => fences.admit(epoch),
    });
    const ring = new RingServer();
    const control = memberService({
      hello: async () => ({
        wireVersion: WIRE_VERSION,
        build,
        member: trust.self.id,
        name: trust.self.name,
        shareBytes: shareBytes(),
        backend,
      }),
      runStage: (order, { emit, signal }) => stages.run(order, emit, signal),
      linkStage: (order) => stages.link(order),
    });
    const server = await WireServer.start({
      tls: trust.tls,
      host: pool.listenHost,
      port: options.port ?? 0,
      services: [control, ring.service, ...pool.services],
      admits: (member) => trust.admits(member),
    });
    closers.push(
      () => stages.settled(),
      () => server.close(),
      () => pool.close(),
    );
    guardServer(trust, server);
    const port = parseAddress(server.address)?.port ?? 0;
    const ownAddress = (): string => pool.addresses()[0] ?? formatAddress({ host: LOOPBACK, port });

    const term = new OwnTerm(home, pool, fences);
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
      },
      engine,
      folder: join(home, 'serving'),
      build,
      wireVersion: WIRE_VERSION,
      epoch: () => term.epoch(),
      onChange: () => showModels(),
      ...(options.route && { route: options.route }),
    });
    closers.push(() => models.close());
    trust.onChange((event) => {
      if (event.kind !== 'PoolChanged' && event.kind !== 'RosterChanged') return;
      for (const member of event.gone) {
        stages.dropMember(member);
        models.dropMember(member).catch((cause: unknown) => log.warn({ err: cause }, 'a model did not end well'));
      }
    });

    const tokenFile = join(home, 'local-token');
    const secret = await localToken(tokenFile);
    const state = new MemberStateStore({ self: trust.self, pipelines: [], endpoint: '' });
    const actions = poolActions({
      pool,
      pipelines: () => state.state.pipelines,
      build,
      wireVersion: WIRE_VERSION,
      logFile,
    });
    const api = localMemberApi(state, actions);
    const onStatus = (listener: () => void): (() => void) => {
      const own = (): void => listener();
      changed.add(own);
      return () => changed.delete(own);
    };
    const gateway = createGateway({
      models,
      localToken: secret,
      build,
      log,
      apiRoutes: (routes) => {
        serveRoutes(routes, models);
        memberRoutes(routes, { api, onStatus });
      },
    });
    closers.push(() => gateway.close());
    const access = new WindowAccess();
    if (options.windowFolder !== undefined) {
      const files = await readRendererFiles(options.windowFolder);
      serveWindow(gateway, { api, files, access, localToken: secret });
    }
    const origin = await gateway.listen({ host: LOOPBACK, port: options.gatewayPort ?? 0 });
    state.update((current) => ({ ...current, endpoint: `${origin}/v1` }));
    onStatus(() => {
      const { id, name } = trust.self;
      state.update((current) =>
        current.self.id === id && current.self.name === name ? current : { ...current, self: { id, name } },
      );
    });
    const showModels = (): void => {
      const pipelines = models.list().map(({ pipelineId, id, placement, lastTokensPerSecond }) => ({
        id: pipelineId,
        modelId: id,
        placement: [...placement],
        hops: placement.length - 1,
        lastTokensPerSecond,
      }));
      state.update((current) => ({ ...current, pipelines }));
      for (const listener of [...changed]) listener();
    };
    await pool.begin(port);
    await noteGateway(home, origin);
    closers.push(() => forgetGateway(home));
    return {
      id: trust.self.id,
      name: trust.self.name,
      address: ownAddress(),
      addresses: pool.addresses(),
      gateway: origin,
      tokenFile,
      models,
      state,
      api,
      windowLink: () => `${origin}/#token=${access.createToken()}`,
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}

/** What the engine host really computes on: a variant for cards counts as the CPU where it has found no card. */
async function computingBackend(engine: EngineKeeper): Promise<Backend> {
  const host = await engine.current();
  const devices = await host.devices();
  return devices.some(({ kind }) => kind === 'gpu' || kind === 'integrated') ? host.backend : 'cpu';
}

/** More layers than any model has: all of a stage goes to the device. */
const ALL_LAYERS = 999;
/** Between looks at what is free. */
const REFRESH_PROFILE_MS = 5 * 60_000;
const LOOPBACK = '127.0.0.1';
