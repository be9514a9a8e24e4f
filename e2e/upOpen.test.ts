import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { watchOutput } from './testing/watchOutput.ts';

const roomful = fileURLToPath(new URL('../dist/electron/cli/main.js', import.meta.url));

describe.skipIf(!hasChromium || process.platform !== 'linux')('roomful up --open', () => {
  let home: string;
  let opened: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'roomful-open-'));
    // Stands for the system's opener, and notes what it was to open.
    opened = join(home, 'opened');
    await writeFile(join(home, 'xdg-open'), `#!/bin/sh\necho "$@" >> ${opened}\n`);
    await chmod(join(home, 'xdg-open'), 0o755);
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  const up = () =>
    spawn(process.execPath, [roomful, 'up', '--open', '--no-mdns', '--memory', '1GB', '--home', join(home, 'member')], {
      env: { ...process.env, PATH: `${home}${delimiter}${process.env.PATH}` },
    });
  const openings = async () => (await readFile(opened, 'utf8').catch(() => '')).trim().split('\n').filter(Boolean);

  test('opens the window with a link that works once, also when the member runs already', async () => {
    const child = up();
    const member = watchOutput(child, 'roomful up');
    const browser = await launchChromium();
    try {
      await member.says(/is ready at/);
      await vi.waitFor(async () => expect(await openings()).toHaveLength(1), { timeout: 10_000 });
      const [file = ''] = await openings();
      expect((await stat(file)).mode & 0o077).toBe(0);
      const page = await (await browser.newContext()).newPage();
      await page.goto(`file://${file}`);
      await page.getByText('Connected', { exact: true }).waitFor();
      const late = await (await browser.newContext()).newPage();
      await late.goto(`file://${file}`);
      await late.getByText('This page needs a fresh link').waitFor();

      await watchOutput(up(), 'the second').exit;
      expect(await openings()).toHaveLength(2);
      await late.goto(`file://${file}`);
      await late.getByText('Connected', { exact: true }).waitFor();
      // A member that is started again is found where editors were told to look, and the window says what to do meanwhile.
      const endpoint = member.stdout().match(/its endpoint is (\S+)/)?.[1];
      child.kill('SIGTERM');
      await member.exit;
      await page.getByRole('alert').getByText('Roomful does not run on this machine any more').waitFor();
      const next = up();
      const again = watchOutput(next, 'the member again');
      try {
        await again.says(/is ready at/);
        expect(again.stdout().match(/its endpoint is (\S+)/)?.[1]).toBe(endpoint);
        await page.getByText('This page needs a fresh link').waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
      } finally {
        next.kill('SIGTERM');
        await again.exit;
      }
    } finally {
      await browser.close();
      child.kill('SIGTERM');
      await member.exit;
    }
  });
});
