import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from '@playwright/test';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startDesktop } from '../electron/desktop/startDesktop.ts';
import { systemUpdater } from '../electron/desktop/systemUpdater.ts';
import { app, type MessageBox, powerMonitor, standIn } from '../electron/desktop/testing/electronStandIn.ts';
import { utilityLauncher } from '../electron/desktop/utilityLauncher.ts';
import type { MemberOptions } from '../electron/member/memberOptions.ts';
import { type Member, startMember } from '../electron/member.ts';
import { nodeLauncher } from '../electron/stage/nodeLauncher.ts';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { dropFile, showWindowsIn } from './testing/electronPage.ts';
import { processTree, stillRunning } from './testing/processTree.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

const PATIENCE = { timeout: 30_000, interval: 100 };

/** Main, preload and page together, and a real member: only Electron itself is stood in for. */
describe.skipIf(!hasChromium)('the desktop app', () => {
  let browser: Browser;
  let home: string;
  /** Closed again after a test that broke off. */
  const members: Member[] = [];
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    standIn.reset();
    home = await mkdtemp(join(tmpdir(), 'roomful-desktop-'));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    for (const member of members.splice(0)) await member.close();
    await rm(home, { recursive: true, force: true });
  });

  /** The desktop app, and what it runs on: a member of its own, looked at from outside. */
  async function startApp(options: Partial<MemberOptions> = {}) {
    const { page: shown, complaints } = showWindowsIn(browser);
    let own: Member | undefined;
    const started = startDesktop({
      startMember: async () => {
        own = await startMember({
          home,
          name: 'desk',
          memoryBytes: 4e9,
          threads: 1,
          launcher: utilityLauncher,
          windowFolder: path('../dist/renderer'),
          ...options,
        });
        members.push(own);
        return own;
      },
      preload: path('../dist/preload/preload.cjs'),
      icons: path('../resources/icons'),
      home,
      updater: systemUpdater(home),
      args: [],
    });
    const page = await shown();
    await started;
    if (own === undefined) throw new Error('No member was started.');
    return { page, member: own, complaints };
  }

  const theQuestion = (): Promise<MessageBox> =>
    vi.waitFor(() => {
      const [box] = standIn.messageBoxes;
      if (box === undefined) throw new Error('Nothing is asked.');
      return box;
    }, PATIENCE);
  const choose = (item: string) => standIn.trays[0]?.choose(item);
  const toolTip = () => standIn.trays[0]?.toolTip;

  test('takes a dropped model, serves it, chats, is set, and ends all of it on quit', async () => {
    const { page, member, complaints } = await startApp();
    await page.getByText('No model is serving yet').waitFor();
    expect(toolTip()).toBe('Roomful: in no pool');

    await dropFile(page, demoModelPath);
    await page.getByRole('listitem', { name: /roomful-demo/ }).waitFor();
    const [model] = (await member.api.call('library', {})).models;
    expect(model?.files).toEqual([demoModelPath]);
    await member.api.call('serve', { model: model?.name ?? '' });
    await page.getByRole('link', { name: 'Pool' }).click();
    await page.getByRole('region', { name: 'Placement of roomful-demo-q8_0' }).getByText('layers 0–11').waitFor();
    expect(toolTip()).toBe('Roomful: serving roomful-demo-q8_0 on one member');
    expect(standIn.notifications.map(({ title }) => title)).toContain('roomful-demo-q8_0 is ready');

    const { questions, answer } = demoCorpus()[0] ?? { questions: [''], answer: '' };
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByLabel('Your message').fill(questions[0] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText(answer).waitFor();

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Notifications').uncheck();
    await page.getByText('Roomful runs from a checkout; update that.').waitFor();
    await expect.poll(() => readFile(join(home, 'desktop.json'), 'utf8')).toContain('"notifications": false');

    await page.getByRole('link', { name: 'Pool' }).click();
    await page.reload();
    await page.getByText('layers 0–11').waitFor();
    choose('Join a Pool…');
    await page.getByLabel('Invite token').waitFor();
    await page.close();
    expect(complaints()).toEqual([]);

    const children = processTree(process.pid).filter(({ command }) => /(stage|engine)Host\.js/.test(command));
    expect(children).toHaveLength(2);
    choose('Quit Roomful');
    (await theQuestion()).choose('Quit');
    await vi.waitFor(() => expect(app.exitCode).toBe(0), PATIENCE);
    expect(stillRunning(children)).toEqual([]);
  });

  test('joins by a link, leaves the pool while the machine sleeps, and serves again when it is awake', async () => {
    const otherHome = await mkdtemp(join(tmpdir(), 'roomful-desktop-other-'));
    const lan = { multicast: false };
    const other = await startMember({
      home: otherHome,
      name: 'attic',
      memoryBytes: 1e9,
      threads: 1,
      launcher: nodeLauncher,
      lan,
    });
    try {
      await other.api.call('create', { name: 'The room' });
      const { token } = await other.api.call('invite', {});
      const { page, member, complaints } = await startApp({ lan });
      const link = token.replace('roomful1:', 'roomful://join/');
      app.emit('second-instance', {}, ['/opt/roomful', link], '/');
      const box = await theQuestion();
      expect(box.options.message).toBe('Join the pool “The room”?');
      const { pool } = await other.api.call('status', {});
      expect(box.options.detail?.replaceAll(' ', '')).toContain(pool?.id);
      box.choose('Join');
      await page.getByRole('heading', { name: 'The room' }).waitFor();
      await page.getByRole('article', { name: 'attic' }).getByText('ready').waitFor();
      await vi.waitFor(() => expect(toolTip()).toBe('Roomful: no model is serving'), PATIENCE);

      const stateOf = async (name: string) =>
        (await other.api.call('members', {})).find((one) => one.name === name)?.state;
      await vi.waitFor(async () => expect(await stateOf('desk')).toBe('alive'), PATIENCE);
      await member.api.call('serve', { modelPath: demoModelPath, force: 'cluster' });
      const serves = async () => {
        const { pipelines } = await other.api.call('status', {});
        return pipelines.map(({ state, placement }) => [state, new Set(placement.map((stage) => stage.member)).size]);
      };
      await vi.waitFor(async () => expect(await serves()).toEqual([['serving', 2]]), PATIENCE);

      powerMonitor.emit('suspend');
      await vi.waitFor(async () => expect(await stateOf('desk')).toBe('left'), PATIENCE);
      expect((await serves()).filter(([state]) => state === 'serving' || state === 'failed')).toEqual([]);
      powerMonitor.emit('resume');
      await vi.waitFor(async () => expect(await stateOf('desk')).toBe('alive'), PATIENCE);
      await vi.waitFor(async () => expect(await serves()).toContainEqual(['serving', 2]), PATIENCE);

      await page.close();
      choose('Quit Roomful');
      const question = await theQuestion();
      expect(question.options.detail).toContain('on another one');
      question.choose('Quit');
      await vi.waitFor(() => expect(app.exitCode).toBe(0), PATIENCE);
      expect(complaints()).toEqual([]);
    } finally {
      await other.close();
      await rm(otherHome, { recursive: true, force: true });
    }
  });

  test('its entry starts a member in the data folder of this machine', async () => {
    const { page: shown, complaints } = showWindowsIn(browser);
    vi.stubEnv('ROOMFUL_HOME', home);
    try {
      await import(path('../dist/electron/main.js'));
      const page = await shown();
      await page.getByText('No model is serving yet').waitFor();
      await page.getByText(hostname(), { exact: true }).first().waitFor();
      await page.close();
    } finally {
      app.quit();
    }
    await vi.waitFor(() => expect(app.exitCode).toBe(0), { timeout: 10_000 });
    expect(await readdir(home)).toContain('local-token');
    expect(complaints()).toEqual([]);
  });
});
