import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { createGateway } from './gateway/createGateway.ts';
import { localToken } from './gateway/http/localToken.ts';
import { serveWindow } from './gateway/memberSocket.ts';
import { serveRoutes } from './gateway/serveRoutes.ts';
import { localMemberApi, MemberStateStore } from './gateway/window/memberState.ts';
import { readRendererFiles } from './gateway/window/rendererFiles.ts';
import { WindowAccess } from './gateway/window/windowAccess.ts';
import { ModelServing } from './pipeline/modelServing.ts';
import { StageService } from './pipeline/stageService.ts';
import { EpochFence } from './pool/epochFence.ts';
import { nextEpochCounter } from './pool/epochStore.ts';
import { openIdentity } from './pool/identity.ts';
import { openMemberTls } from './pool/openMemberTls.ts';
import { EngineKeeper } from './stage/engineKeeper.ts';
import type { HostLauncher } from './stage/hostLauncher.ts';
import { notingLauncher, reapLeftovers } from './stage/hostLeftovers.ts';
import type { Backend } from './stage/librariesFolder.ts';
import { LLAMA_CPP_COMMIT } from './stage/llamaBuild.ts';
import type { Epoch } from './wire/generated/roomful/v1/ring.ts';
import { memberIdOfCertificate } from './wire/memberId.ts';
import { memberService } from './wire/memberService.ts';
import { RingServer } from './wire/ringServer.ts';
import { WireServer } from './wire/wireServer.ts';
import { WIRE_VERSION } from './wire/wireVersion.ts';

export interface MemberOptions {
  /** Data folder. */
  home: string;
  name: string;
  /** Bytes of memory that this member shares. */
  memoryBytes: number;
  /** Threads of each stage. */
  threads: number;
  /** Starts the processes that load native code. */
  launcher: HostLauncher;
  /** Literal address at which other members reach this one; loopback where left out. */
  host?: string;
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
  /** Origin of the gateway, on loopback. */
  readonly gateway: string;
  /** File with the local token, readable by its owner only. */
  readonly tokenFile: string;
  readonly models: ModelServing;
  readonly state: MemberStateStore;
  /** A new link that opens the window in a browser, once. */
  windowLink(): string;
  /** Ends what it serves and every process that it started. */
  close(): Promise<void>;
}

/** Starts a member: control plane, gateway, engine host. Rejects with one plain line, and then nothing is left running. */
export async function startMember(options: MemberOptions): Promise<Member> {
  const { home, name, threads, memoryBytes, host = '127.0.0.1' } = options;
  await mkdir(home, { recursive: true, mode: 0o700 });
  const log = pino({ level: 'info' }, pino.destination({ dest: join(home, 'roomful.log'), sync: false, mode: 0o600 }));
  const identity = await openIdentity(home);
  const tls = await openMemberTls(home, identity);
  const build = LLAMA_CPP_COMMIT;
  const fence = await EpochFence.open(home, memberIdOfCertificate(Buffer.from(tls.ca)));
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
    const stages = new StageService({
      launcher,
      tls,
      host,
      folder: join(home, 'stages'),
      threads,
      gpuLayers: backend === 'cpu' ? 0 : ALL_LAYERS,
      admitEpoch: (epoch) => fence.admit(epoch),
    });
    const ring = new RingServer();
    const control = memberService({
      hello: async () => ({
        wireVersion: WIRE_VERSION,
        build,
        member: identity.id,
        name,
        shareBytes: memoryBytes,
        backend,
      }),
      runStage: (order, { emit, signal }) => stages.run(order, emit, signal),
      linkStage: (order) => stages.link(order),
    });
    const server = await WireServer.start({ tls, host, port: options.port ?? 0, services: [control, ring.service] });
    closers.push(
      () => stages.settled(),
      () => server.close(),
    );

    let term: Promise<Epoch> | null = null;
    const beginTerm = async (): Promise<Epoch> => {
      const counter = await nextEpochCounter(home, fence.newest?.counter ?? 0);
      return { counter, coordinator: identity.id };
    };
    const models = new ModelServing({
      coordinator: { member: identity.id, tls, ring, address: server.address },
      engine,
      folder: join(home, 'serving'),
      build,
      wireVersion: WIRE_VERSION,
      epoch: () => (term ??= beginTerm()),
      onChange: () => showModels(),
      ...(options.route && { route: options.route }),
    });
    closers.push(() => models.close());

    const tokenFile = join(home, 'local-token');
    const secret = await localToken(tokenFile);
    const gateway = createGateway({
      models,
      localToken: secret,
      build,
      log,
      apiRoutes: (api) => serveRoutes(api, models),
    });
    closers.push(() => gateway.close());
    const state = new MemberStateStore({ self: { id: identity.id, name }, pipelines: [], endpoint: '' });
    const access = new WindowAccess();
    if (options.windowFolder !== undefined) {
      const files = await readRendererFiles(options.windowFolder);
      serveWindow(gateway, { api: localMemberApi(state), files, access, localToken: secret });
    }
    const origin = await gateway.listen({ host: '127.0.0.1', port: options.gatewayPort ?? 0 });
    state.update((current) => ({ ...current, endpoint: `${origin}/v1` }));
    const showModels = (): void => {
      const pipelines = models.list().map(({ pipelineId, id, placement, lastTokensPerSecond }) => ({
        id: pipelineId,
        modelId: id,
        placement: [...placement],
        hops: placement.length - 1,
        lastTokensPerSecond,
      }));
      state.update((current) => ({ ...current, pipelines }));
    };
    return {
      id: identity.id,
      name,
      address: server.address,
      gateway: origin,
      tokenFile,
      models,
      state,
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
