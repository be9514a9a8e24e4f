import { readFileSync } from 'node:fs';
import type { Browser, Page } from '@playwright/test';
import { type BrowserWindow, standIn } from '../../electron/desktop/testing/electronStandIn.ts';
import { complaintsOf } from './chromium.ts';

/**
 * Backs the windows of the stand-in for Electron with pages of a real browser: the preload script runs before the page's
 * own scripts, IPC goes over exposed bindings, navigation and new windows are asked for as Electron asks.
 */
export function showWindowsIn(browser: Browser): { page(): Promise<Page>; complaints: string[] } {
  const complaints: string[] = [];
  let opened: (page: Page) => void = () => {};
  const first = new Promise<Page>((resolve) => {
    opened = resolve;
  });
  standIn.loadPage = async (window, url) => {
    const page = await browser.newPage();
    complaints.push(...complaintsOf(page));
    await connect(window, page);
    await page.goto(url);
    opened(page);
  };
  return { page: () => first, complaints };
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
