import { join } from 'node:path';
import { endpointActions } from '../gateway/access/endpointActions.ts';
import { conversationActions } from '../gateway/conversations/conversationActions.ts';
import { ConversationStore } from '../gateway/conversations/conversationStore.ts';
import { createGateway } from '../gateway/createGateway.ts';
import { GatewayError } from '../gateway/gatewayError.ts';
import { localToken } from '../gateway/http/localToken.ts';
import type { DesktopMethod, MemberApi, ServingPipeline } from '../gateway/memberApi.ts';
import { memberRoutes } from '../gateway/memberRoutes.ts';
import { serveWindow } from '../gateway/memberSocket.ts';
import { poolActions, poolState } from '../gateway/poolActions.ts';
import { serveRoutes } from '../gateway/serveRoutes.ts';
import { servingActions, servingPipelines } from '../gateway/servingActions.ts';
import { derivedTopic } from '../gateway/window/derivedTopic.ts';
import { localMemberApi, type MemberActions, MemberStateStore } from '../gateway/window/memberState.ts';
import { readRendererFiles } from '../gateway/window/rendererFiles.ts';
import { WindowAccess } from '../gateway/window/windowAccess.ts';
import { WIRE_VERSION } from '../wire/wireVersion.ts';
import { listenAsBefore } from './listenAsBefore.ts';
import { LOOPBACK } from './loopback.ts';
import type { Pool } from './openPool.ts';
import { startEndpoint } from './startEndpoint.ts';
import type { Ground } from './startGround.ts';
import type { LibraryApi } from './startLibraryApi.ts';
import type { Serving } from './startServing.ts';

/** What people and their programs see of this member. */
export interface LocalGateway {
  /** On loopback. */
  readonly origin: string;
  readonly tokenFile: string;
  readonly state: MemberStateStore;
  readonly api: MemberApi;
  windowLink(): string;
}

/** Starts the OpenAI API, the member API and the window on loopback. */
export async function startGateway(
  ground: Ground,
  { pool }: Pool,
  { models, modelChanges }: Serving,
  library: LibraryApi,
): Promise<LocalGateway> {
  const { options, home, build, log, logFile, launcher, changes, closers } = ground;
  const { trust } = pool;
  const tokenFile = join(home, 'local-token');
  const secret = await localToken(tokenFile);
  const state = new MemberStateStore({ self: trust.self, pipelines: [], endpoint: '' });
  const pipelines = (): ServingPipeline[] => state.state.pipelines;
  const access = new WindowAccess();
  const endpoint = await startEndpoint(ground, pool, (lan, shared) =>
    createGateway({
      models,
      localToken: secret,
      build,
      log,
      launcher,
      lan,
      ...shared,
      caCertificate: () => lan.tls.ca,
    }),
  );
  const windowLink = (): string => {
    if (options.windowFolder === undefined) throw new Error('This member shows no window.');
    return `${state.state.endpoint.replace(/\/v1$/, '')}/#token=${access.createToken()}`;
  };
  const actions = {
    ...poolActions({ pool, pipelines, build, wireVersion: WIRE_VERSION, logFile }),
    ...servingActions(models),
    windowLink: async () => ({ link: windowLink() }),
    ...endpointActions(endpoint),
    ...conversationActions(new ConversationStore(join(home, 'conversations'))),
    ...withoutDesktop,
  };
  const poolTopic = derivedTopic(
    () => poolState({ pool, pipelines }),
    (listener) => changes.on(listener),
  );
  const topics = { state, pool: poolTopic, library: library.topic, endpoint: endpoint.topic };
  const api = localMemberApi(topics, { ...actions, ...library.actions });
  const gateway = createGateway({
    models,
    onModels: (listener) => modelChanges.on(listener),
    rules: endpoint.lan.rules,
    requests: endpoint.requests,
    caCertificate: endpoint.caCertificate,
    numbers: () => models.numbers(),
    localToken: secret,
    build,
    log,
    launcher,
    apiRoutes: (routes) => {
      serveRoutes(routes, models, api);
      memberRoutes(routes, api);
    },
  });
  closers.add(() => gateway.close());
  if (options.windowFolder !== undefined) {
    const files = await readRendererFiles(options.windowFolder);
    serveWindow(gateway, { api, files, access, localToken: secret, modelsFolder: library.modelsFolder });
  }
  let origin = '';
  const listen = async (port: number): Promise<number> => {
    origin = await gateway.listen({ host: LOOPBACK, port });
    return Number(new URL(origin).port);
  };
  await listenAsBefore(home, listen, options.gatewayPort);
  state.update((current) => ({ ...current, endpoint: `${origin}/v1` }));
  changes.on(() => {
    const { id, name } = trust.self;
    state.update((current) =>
      current.self.id === id && current.self.name === name ? current : { ...current, self: { id, name } },
    );
  });
  modelChanges.on(() => {
    const before = JSON.stringify(state.state.pipelines);
    const now = servingPipelines(models);
    if (JSON.stringify(now) === before) return;
    state.update((current) => ({ ...current, pipelines: now }));
    changes.tell();
  });
  return { origin, tokenFile, state, api, windowLink };
}

/** The desktop app answers these itself. */
const withoutDesktop: Pick<MemberActions, DesktopMethod> = { desktop: refuseDesktop, changeDesktop: refuseDesktop };

async function refuseDesktop(): Promise<never> {
  throw new GatewayError('Only the window of the desktop app has these settings.', { status: 409, code: 'no_desktop' });
}
