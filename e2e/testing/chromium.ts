import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from '@playwright/test';

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** False, and said loudly, where there is no Chromium to show a page. */
export const hasChromium = existsSync(EXECUTABLE);
if (!hasChromium) {
  console.warn(`SKIPPED: the tests of the window need Chromium at ${EXECUTABLE}; set CHROMIUM to where it is.`);
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
}

/** Collects what a healthy page never says: errors, broken policies, requests beyond loopback. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') complaints.push(`request to ${request.url()}`);
  });
  return complaints;
}
