import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { _electron } from '@playwright/test';
import { expect, test } from 'vitest';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { processTree, stillRunning } from './testing/processTree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Electron's binary, null where it was not downloaded. The package itself would download it when it is asked. */
function electronBinary(): string | null {
  const folder = dirname(createRequire(import.meta.url).resolve('electron/package.json'));
  const name = join(folder, 'path.txt');
  if (!existsSync(name)) return null;
  const binary = join(process.env.ELECTRON_OVERRIDE_DIST_PATH ?? join(folder, 'dist'), readFileSync(name, 'utf8'));
  return existsSync(binary) ? binary : null;
}

const binary = electronBinary();
if (binary === null) {
  console.warn("SKIPPED: the test of the real Electron needs its binary; 'npx install-electron' downloads it.");
}

test.skipIf(binary === null)('the real app takes a model, serves it, chats, and quits whole', async () => {
  const home = await mkdtemp(join(tmpdir(), 'roomful-electron-'));
  // Root has no sandbox on Linux, and a machine without a screen needs Xvfb around the tests.
  const args = [root, `--user-data-dir=${join(home, 'electron')}`];
  if (process.getuid?.() === 0) args.push('--no-sandbox');
  // As a double click on the file starts it.
  args.push(demoModelPath);
  const app = await _electron.launch({
    executablePath: binary ?? '',
    args,
    env: { ...process.env, ROOMFUL_HOME: join(home, 'member') } as Record<string, string>,
  });
  try {
    const page = await app.firstWindow();
    await page.getByRole('listitem', { name: /roomful-demo/ }).waitFor();
    expect(await page.evaluate('typeof process + typeof require + typeof roomful')).toBe('undefinedundefinedobject');
    // Nothing leaves the app: neither the page, nor a window of its own.
    expect(await page.evaluate("window.open('http://example.com/') === null")).toBe(true);
    expect(app.windows()).toHaveLength(1);

    await page
      .getByRole('listitem', { name: /roomful-demo/ })
      .getByRole('button', { name: 'Serve', exact: true })
      .click();
    await page.getByRole('link', { name: 'Pool' }).click();
    await page.getByText('layers 0–11').waitFor();
    const { questions, answer } = demoCorpus()[0] ?? { questions: [''], answer: '' };
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByLabel('Your message').fill(questions[0] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText(answer).waitFor();

    // The second start hands over to the first and ends.
    const second = spawnSync(binary ?? '', args, {
      env: { ...process.env, ROOMFUL_HOME: join(home, 'member') },
      timeout: 30_000,
    });
    expect(second.status).toBe(0);
    expect(app.windows()).toHaveLength(1);

    const { pid } = app.process();
    const children = pid === undefined || process.platform !== 'linux' ? [] : processTree(pid);
    const closed = new Promise((resolve) => app.process().once('exit', resolve));
    // As a person who says yes to the question whether the model may stop.
    await app.evaluate(({ app: main, dialog }) => {
      Object.assign(dialog, { showMessageBox: async () => ({ response: 0, checkboxChecked: false }) });
      main.quit();
    });
    expect(await closed, `process ${pid}`).toBe(0);
    await expect.poll(() => stillRunning(children)).toEqual([]);
  } finally {
    await app.close().catch(() => {});
    await rm(home, { recursive: true, force: true });
  }
});
