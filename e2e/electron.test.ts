import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { _electron } from '@playwright/test';
import { expect, test } from 'vitest';

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

test.skipIf(binary === null)('the real app starts, shows its window in a sandbox, and quits whole', async () => {
  const home = await mkdtemp(join(tmpdir(), 'roomful-electron-'));
  // Root has no sandbox on Linux, and a machine without a screen needs Xvfb around the tests.
  const args = [root, `--user-data-dir=${join(home, 'electron')}`];
  if (process.getuid?.() === 0) args.push('--no-sandbox');
  const app = await _electron.launch({
    executablePath: binary ?? '',
    args,
    env: { ...process.env, ROOMFUL_HOME: join(home, 'member') } as Record<string, string>,
  });
  try {
    const page = await app.firstWindow();
    await page.getByText('No model is serving yet').waitFor();
    expect(await page.evaluate('typeof process + typeof require + typeof roomful')).toBe('undefinedundefinedobject');
    const { pid } = app.process();
    const closed = new Promise((resolve) => app.process().once('exit', resolve));
    await app.evaluate(({ app: main }) => main.quit());
    expect(await closed, `process ${pid}`).toBe(0);
  } finally {
    await app.close().catch(() => {});
    await rm(home, { recursive: true, force: true });
  }
});
