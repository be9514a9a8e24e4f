import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from '@playwright/test';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startDesktop } from '../electron/desktop/startDesktop.ts';
import { app, standIn } from '../electron/desktop/testing/electronStandIn.ts';
import { utilityLauncher } from '../electron/desktop/utilityLauncher.ts';
import { type Member, startMember } from '../electron/member.ts';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { showWindowsIn } from './testing/electronPage.ts';
import { processTree, stillRunning } from './testing/processTree.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Main, preload and page together, and a real member: only Electron itself is stood in for. */
describe.skipIf(!hasChromium)('the desktop app', () => {
  let browser: Browser;
  let home: string;
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
    await rm(home, { recursive: true, force: true });
  });

  test('shows what its member serves over IPC, chats with it, and ends all of it on quit', async () => {
    const { page: shown, complaints } = showWindowsIn(browser);
    let member: Member | undefined;
    const started = startDesktop({
      startMember: async () => {
        member = await startMember({
          home,
          name: 'desk',
          memoryBytes: 4e9,
          threads: 1,
          launcher: utilityLauncher,
          windowFolder: path('../dist/renderer'),
        });
        return member;
      },
      preload: path('../dist/preload/preload.cjs'),
      icons: path('../resources/icons'),
    });
    const page = await shown();
    await started;
    await page.getByText('No model is serving yet').waitFor();
    if (member === undefined) throw new Error('No member was started.');
    await member.models.serve(
      { modelPath: demoModelPath, members: [{ address: member.address, id: member.id }] },
      () => {},
      new AbortController().signal,
    );
    await page.getByRole('region', { name: 'Placement of roomful-demo-q8_0' }).getByText('layers 0–11').waitFor();
    expect(standIn.trays[0]?.toolTip).toBe('Roomful: serving roomful-demo-q8_0 on one member');

    const { questions, answer } = demoCorpus()[0] ?? { questions: [''], answer: '' };
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByLabel('Your message').fill(questions[0] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText(answer).waitFor();

    await page.getByRole('link', { name: 'Pool' }).click();
    await page.reload();
    await page.getByText('layers 0–11').waitFor();
    await page.close();
    expect(complaints).toEqual([]);

    const children = processTree(process.pid).filter(({ command }) => /(stage|engine)Host\.js/.test(command));
    expect(children).toHaveLength(2);
    standIn.trays[0]?.choose('Quit Roomful');
    await vi.waitFor(() => expect(app.exitCode).toBe(0), { timeout: 10_000 });
    expect(stillRunning(children)).toEqual([]);
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
    expect(complaints).toEqual([]);
  });
});
