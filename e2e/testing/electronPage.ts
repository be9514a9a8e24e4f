import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Browser, Page } from '@playwright/test';
import { type BrowserWindow, standIn } from '../../electron/desktop/testing/electronStandIn.ts';
import { complaintsOf } from './chromium.ts';

/**
 * Backs the windows of the stand-in for Electron with pages of a real browser: the preload script runs before the page's
 * own scripts, IPC goes over exposed bindings. A dropped file lies where `dropFile` says.
 */
export function showWindowsIn(browser: Browser): { page(): Promise<Page>; complaints(): string[] } {
  const complaints: string[][] = [];
  let opened: (page: Page) => void = () => {};
  const first = new Promise<Page>((resolve) => {
    opened = resolve;
  });
  const pages = new WeakMap<BrowserWindow, Page>();
  standIn.loadPage = async (window, url) => {
    const known = pages.get(window);
    if (known !== undefined) {
      await known.goto(url);
      return;
    }
    const page = await browser.newPage();
    pages.set(window, page);
    complaints.push(complaintsOf(page));
    await connect(window, page);
    await page.goto(url);
    opened(page);
  };
  return { page: () => first, complaints: () => complaints.flat() };
}

async function connect(window: BrowserWindow, page: Page): Promise<void> {
  const { webContents, options } = window;
  const preload = options.webPreferences?.preload;
  if (preload === undefined) throw new Error('The window has no preload script.');
  await page.exposeFunction('standInSend', (channel: string, message: unknown) =>
    standIn.sendToMain(webContents, channel, message),
  );
  await page.addInitScript(`{
    const listeners = [];
    window.standInReceive = (channel, message) => {
      for (const one of listeners) if (one.channel === channel) one.listener({}, message);
    };
    const electron = {
      contextBridge: { exposeInMainWorld: (key, api) => { window[key] = api; } },
      ipcRenderer: {
        send: (channel, message) => { window.standInSend(channel, message); },
        on: (channel, listener) => { listeners.push({ channel, listener }); },
      },
      webUtils: { getPathForFile: (file) => (window.standInPaths ?? {})[file.name] ?? '' },
    };
    ((require) => { ${readFileSync(preload, 'utf8')} })((name) => {
      if (name !== 'electron') throw new Error('A sandboxed preload script cannot require ' + name);
      return electron;
    });
  }`);
  webContents.on('stand-in:sent', (channel: string, message: unknown) => {
    page.evaluate(`window.standInReceive(${JSON.stringify(channel)}, ${JSON.stringify(message)})`).catch(() => {});
  });
}

/** Drops a file of this disk on the window as a file manager does: the page gets a `File`, and only Electron knows its path. */
export async function dropFile(page: Page, path: string): Promise<void> {
  const name = basename(path);
  await page.evaluate(`window.standInPaths = { ${JSON.stringify(name)}: ${JSON.stringify(path)} }`);
  const dataTransfer = await page.evaluateHandle(`(() => {
    const data = new DataTransfer();
    data.items.add(new File(['GGUF'], ${JSON.stringify(name)}));
    return data;
  })()`);
  await page.dispatchEvent('body', 'dragover', { dataTransfer });
  await page.dispatchEvent('body', 'drop', { dataTransfer });
}
