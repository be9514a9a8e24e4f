import { beforeEach, expect, test, vi } from 'vitest';
import type { MemberState } from '../gateway/memberApi.ts';
import { localMemberApi, MemberStateStore } from '../gateway/window/memberState.ts';
import type { DesktopMember } from './desktopMember.ts';
import { ipcChannels } from './ipcChannels.ts';
import { startDesktop } from './startDesktop.ts';
import { app, type BrowserWindow, standIn, type Tray } from './testing/electronStandIn.ts';

const gateway = 'http://127.0.0.1:4141';
const idle: MemberState = { self: { id: 'm', name: 'desk' }, pipelines: [], endpoint: `${gateway}/v1` };
const serving: MemberState = {
  ...idle,
  pipelines: [
    {
      id: 'p',
      modelId: 'demo',
      aliases: [],
      state: 'serving',
      fraction: 0,
      reason: null,
      driver: { id: 'm', name: 'desk' },
      contextLength: 4096,
      placement: [
        { member: 'desk', startLayer: 0, endLayer: 2, bytes: 2, kvBytes: 0 },
        { member: 'attic', startLayer: 2, endLayer: 3, bytes: 1, kvBytes: 0 },
      ],
      hops: 1,
      lastTokensPerSecond: null,
      figures: null,
    },
  ],
};

let state: MemberStateStore;
let member: DesktopMember & { closed: number };

beforeEach(() => {
  standIn.reset();
  state = new MemberStateStore(idle);
  member = {
    gateway,
    state,
    api: localMemberApi({ state }),
    closed: 0,
    async close() {
      this.closed += 1;
    },
  };
});

const start = (startMember = async (): Promise<DesktopMember> => member) =>
  startDesktop({ startMember, preload: '/app/preload.cjs', icons: '/app/icons' });

function theWindow(): BrowserWindow {
  const [window] = standIn.windows;
  if (window === undefined) throw new Error('There is no window.');
  return window;
}

function theTray(): Tray {
  const [tray] = standIn.trays;
  if (tray === undefined) throw new Error('There is no tray icon.');
  return tray;
}

const ended = () => vi.waitFor(() => expect(app.exitCode).not.toBeNull());

test('the window shows the page of the gateway, sandboxed', async () => {
  await start();
  expect(theWindow().webContents.getURL()).toBe(`${gateway}/`);
  expect(theWindow().visible).toBe(true);
  expect(theWindow().options.webPreferences).toEqual({
    preload: '/app/preload.cjs',
    sandbox: true,
    contextIsolation: true,
    nodeIntegration: false,
    webviewTag: false,
  });
});

test('a second instance hands over to the first, whose window comes to the front', async () => {
  await start();
  theWindow().minimized = true;
  app.emit('second-instance');
  expect(theWindow().minimized).toBe(false);
  expect(theWindow().focused).toBe(true);
  expect(standIn.windows).toHaveLength(1);

  standIn.reset();
  app.holdsLock = false;
  await start(() => Promise.reject(new Error('started a second member')));
  expect(app.exitCode).toBe(0);
  expect(standIn.windows).toHaveLength(0);
});

test('closing the window hides it, and the tray brings it back', async () => {
  await start();
  theWindow().close();
  expect(theWindow().visible).toBe(false);
  expect(app.exitCode).toBeNull();
  theTray().choose('Open Roomful');
  expect(theWindow().visible).toBe(true);
});

test('the tray says what serves and copies the endpoint', async () => {
  await start();
  const picture = process.platform === 'darwin' ? 'Template.png' : '.png';
  expect(theTray().image).toBe(`/app/icons/trayIdle${picture}`);
  state.update(() => serving);
  expect(theTray().image).toBe(`/app/icons/trayServing${picture}`);
  expect(theTray().toolTip).toBe('Roomful: serving demo on 2 members');
  expect(theTray().menu?.items[0]).toEqual({ label: 'Roomful: serving demo on 2 members', enabled: false });
  theTray().choose('Copy Endpoint Address');
  expect(standIn.clipboard).toBe(`${gateway}/v1`);
});

test('quit ends the member, with all its children, before the app', async () => {
  const order: string[] = [];
  member.close = async () => {
    await new Promise((resolve) => setTimeout(resolve));
    order.push('member');
  };
  await start();
  app.on('quit', () => order.push('app'));
  theTray().choose('Quit Roomful');
  app.quit();
  await ended();
  expect(order).toEqual(['member', 'app']);
  expect(app.exitCode).toBe(0);
});

test('quit while the member starts waits for it and ends it', async () => {
  let started: (member: DesktopMember) => void = () => {};
  const starting = start(
    () =>
      new Promise((resolve) => {
        started = resolve;
      }),
  );
  await vi.waitFor(() => expect(app.listenerCount('before-quit')).toBe(1));
  app.quit();
  expect(app.exitCode).toBeNull();
  started(member);
  await starting;
  await ended();
  expect(member.closed).toBe(1);
  expect(standIn.windows).toHaveLength(0);
});

test('a member that cannot close does not keep the app alive', async () => {
  member.close = () => Promise.reject(new Error('stuck'));
  await start();
  app.quit();
  await ended();
  expect(app.exitCode).toBe(1);
});

test('a member that cannot start is one plain line and the end', async () => {
  await start(() => Promise.reject(new Error('Port 4141 is taken; choose another one.')));
  expect(standIn.errorBoxes).toEqual([{ title: 'Roomful', content: 'Port 4141 is taken; choose another one.' }]);
  await ended();
  expect(app.exitCode).toBe(1);
});

test('a page that cannot be loaded is said, and the tray tries again', async () => {
  standIn.loadPage = () => Promise.reject(new Error('ERR_CONNECTION_REFUSED'));
  await start();
  expect(standIn.errorBoxes).toHaveLength(1);
  expect(standIn.windows).toHaveLength(0);
  expect(app.exitCode).toBeNull();
  standIn.loadPage = async () => {};
  theTray().choose('Open Roomful');
  await vi.waitFor(() => expect(theWindow().visible).toBe(true));
});

test.each([
  ['another origin', 'https://example.com/', false],
  ['another port', 'http://127.0.0.1:4142/', false],
  ['a file', 'file:///etc/passwd', false],
  ['a script', 'javascript:alert(1)', false],
  ['itself', `${gateway}/#x`, true],
])('navigation to %s is allowed: %s %s', async (_name, url, allowed) => {
  await start();
  expect(theWindow().webContents.navigate(url)).toBe(allowed);
});

test('no new window, no web view, no permission but writing to the clipboard', async () => {
  await start();
  const contents = theWindow().webContents;
  expect(contents.openHandler?.(Object.create(null))).toEqual({ action: 'deny' });
  let prevented = false;
  contents.emit('will-attach-webview', {
    preventDefault: () => {
      prevented = true;
    },
  });
  expect(prevented).toBe(true);
  const check = standIn.permissionCheckHandler;
  const details = { isMainFrame: true };
  expect(check?.(null, 'clipboard-sanitized-write', `${gateway}/`, details)).toBe(true);
  expect(check?.(null, 'clipboard-sanitized-write', 'http://127.0.0.1:4142/', details)).toBe(false);
  expect(check?.(null, 'clipboard-read', `${gateway}/`, details)).toBe(false);
  expect(check?.(null, 'media', `${gateway}/`, details)).toBe(false);
});

test('the page follows the state over IPC, and a reloaded page starts anew', async () => {
  await start();
  const contents = theWindow().webContents;
  const send = (message: unknown) => standIn.sendToMain(contents, ipcChannels.toMember, message);
  const event = (value: MemberState) => [ipcChannels.toWindow, { kind: 'event', topic: 'state', value }];
  send({ kind: 'subscribe', topic: 'state' });
  state.update(() => serving);
  expect(contents.sent).toEqual([event(idle), event(serving)]);

  contents.navigate(`${gateway}/`);
  state.update(() => idle);
  expect(contents.sent).toHaveLength(2);
  send({ kind: 'call', id: 0, method: 'state', params: {} });
  await vi.waitFor(() => expect(contents.sent).toHaveLength(3));
  expect(contents.sent[2]).toEqual([ipcChannels.toWindow, { kind: 'result', id: 0, value: idle }]);
});

test.each(['render-process-gone', 'destroyed'])('nothing is sent to a page after %s', async (event) => {
  await start();
  const contents = theWindow().webContents;
  standIn.sendToMain(contents, ipcChannels.toMember, { kind: 'subscribe', topic: 'state' });
  contents.emit(event);
  state.update(() => serving);
  expect(contents.sent).toHaveLength(1);
});

test('only the main frame of the own page is heard, and only the contract', async () => {
  await start();
  const contents = theWindow().webContents;
  const subscribe = { kind: 'subscribe', topic: 'state' };
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe, { url: `${gateway}/` });
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe, null);
  standIn.sendToMain(contents, ipcChannels.toMember, { kind: 'eval', code: '1' });
  standIn.sendToMain(contents, ipcChannels.toMember, null);
  contents.mainFrame.url = 'http://127.0.0.1:4142/';
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe);
  contents.mainFrame.url = 'about:blank';
  standIn.sendToMain(contents, ipcChannels.toMember, subscribe);
  expect(contents.sent).toEqual([]);
});
