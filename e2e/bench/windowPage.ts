import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from '@playwright/test';
import Fastify from 'fastify';
import type { MemberState, PoolState } from '../../electron/gateway/memberApi.ts';
import { serveWindow } from '../../electron/gateway/memberSocket.ts';
import { localMemberApi, type MemberActions, MemberStateStore } from '../../electron/gateway/window/memberState.ts';
import { readRendererFiles } from '../../electron/gateway/window/rendererFiles.ts';
import { WindowAccess } from '../../electron/gateway/window/windowAccess.ts';
import { closedEndpoint, emptyLibrary } from '../testing/emptyTopics.ts';

const state: MemberState = { self: { id: 'm', name: 'desk' }, pipelines: [], endpoint: 'http://127.0.0.1/v1' };
const pool: PoolState = {
  status: { self: state.self, pool: null, coordinator: null, epoch: null, members: [], pipelines: [] },
  members: [],
  removed: null,
  invites: [],
};

export interface WindowPage {
  page: Page;
  /** The address of a page of the window, such as `/#/chat`, without its origin. */
  show(address: string): Promise<void>;
  close(): Promise<void>;
}

/** The built window in Chromium at 1440 x 900, signed in to a member that only answers what `actions` say. */
export async function openWindowPage(actions: Partial<MemberActions> = {}): Promise<WindowPage> {
  const access = new WindowAccess();
  const app = Fastify();
  const files = await readRendererFiles(fileURLToPath(new URL('../../renderer', import.meta.url)));
  const api = localMemberApi(
    {
      state: new MemberStateStore(state),
      pool: { value: pool, onChange: () => () => {} },
      library: { value: emptyLibrary, onChange: () => () => {} },
      endpoint: { value: closedEndpoint, onChange: () => () => {} },
    },
    actions,
  );
  serveWindow(app, { api, files, access, localToken: 'none' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  let browser: Browser | undefined;
  const close = async (): Promise<void> => {
    await browser?.close();
    await app.close();
  };
  try {
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    });
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${origin}/#token=${access.createToken()}`);
    await page.getByText('Connected').waitFor();
    return { page, close, show: async (address) => void (await page.goto(`${origin}${address}`)) };
  } catch (cause) {
    await close();
    throw cause;
  }
}
