import { fileURLToPath } from 'node:url';
import Fastify, { type FastifyInstance } from 'fastify';
import type { EndpointAccess, LibraryState, MemberState, PoolState } from '../../electron/gateway/memberApi.ts';
import { serveWindow } from '../../electron/gateway/memberSocket.ts';
import { member, memberState, poolState } from '../../electron/gateway/testing/memberFixtures.ts';
import { Topic } from '../../electron/gateway/testing/topic.ts';
import { localMemberApi, type MemberActions } from '../../electron/gateway/window/memberState.ts';
import { readRendererFiles } from '../../electron/gateway/window/rendererFiles.ts';
import { WindowAccess } from '../../electron/gateway/window/windowAccess.ts';

export interface StagedWindow {
  /** What the window shows; at first a machine alone, without a model. */
  state: Topic<MemberState>;
  pool: Topic<PoolState>;
  library: Topic<LibraryState>;
  endpoint: Topic<EndpointAccess>;
  /** The address without a path. */
  origin: string;
  /** A new address that opens the window, once. */
  link(): string;
  close(): Promise<void>;
}

import { closedEndpoint, emptyLibrary } from './emptyTopics.ts';

/**
 * The built window on a member of which there is only what the test says: for states that real members are seldom in.
 * `routes` adds what else it answers.
 */
export async function stageWindow(
  actions: Partial<MemberActions> = {},
  routes: (app: FastifyInstance) => void = () => {},
): Promise<StagedWindow> {
  const topics = {
    state: new Topic(memberState()),
    pool: new Topic(poolState([member('desk')], null)),
    library: new Topic<LibraryState>(emptyLibrary),
    endpoint: new Topic<EndpointAccess>(closedEndpoint),
  };
  const access = new WindowAccess();
  const app = Fastify();
  routes(app);
  const files = await readRendererFiles(fileURLToPath(new URL('../../dist/renderer', import.meta.url)));
  serveWindow(app, { api: localMemberApi(topics, actions), files, access, localToken: 'none' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ...topics,
    origin,
    link: () => `${origin}/#token=${access.createToken()}`,
    close: () => app.close(),
  };
}
