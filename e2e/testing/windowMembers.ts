import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from '@playwright/test';
import { callMember } from '../../electron/cli/callMember.ts';
import { complaintsOf } from './chromium.ts';
import { watchOutput } from './watchOutput.ts';

const roomful = fileURLToPath(new URL('../../dist/electron/cli/main.js', import.meta.url));

/** A real member, and its window in a browser. */
export interface WindowMember {
  home: string;
  child: ChildProcessWithoutNullStreams;
  exit: Promise<number | null>;
  page: Page;
  /** What the browser complained of. */
  complaints: string[];
}

/** Real members of one machine, each with 1 GB of memory and its window open in a page of the browser. */
export class WindowMembers {
  readonly #running: Pick<WindowMember, 'home' | 'child' | 'exit'>[] = [];

  /** In a new data folder, unless `home` is one of an earlier run. */
  async start(
    browser: Browser,
    name: string,
    home = mkdtempSync(join(tmpdir(), `roomful-window-${name}-`)),
  ): Promise<WindowMember> {
    const args = [roomful, 'up', '--name', name, '--no-mdns', '--memory', '1GB', '--home', home];
    const child = spawn(process.execPath, args);
    const output = watchOutput(child, name);
    const running = { home, child, exit: output.exit };
    this.#running.push(running);
    await output.says(/is ready at/);
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    const complaints = complaintsOf(page);
    await page.goto((await callMember(home, 'windowLink', {})).link);
    await page.getByText('Connected', { exact: true }).waitFor();
    return { ...running, page, complaints };
  }

  /** Ends a member, and starts it on what it has kept. */
  async restart(browser: Browser, name: string, { home, child, exit }: WindowMember): Promise<WindowMember> {
    child.kill('SIGTERM');
    await exit;
    this.#running.splice(
      this.#running.findIndex((one) => one.child === child),
      1,
    );
    return this.start(browser, name, home);
  }

  /** Ends all of them and removes their data folders. */
  async close(): Promise<void> {
    for (const { child, exit, home } of this.#running.splice(0)) {
      child.kill('SIGTERM');
      await exit;
      rmSync(home, { recursive: true, force: true });
    }
  }
}
