import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Page } from '@playwright/test';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { complaintsOf, hasChromium, launchChromium } from './testing/chromium.ts';
import { demoCorpus } from './testing/demoCorpus.ts';
import { type DemoProcess, startDemo } from './testing/demoProcess.ts';

const SCREENSHOTS = 'test-results/window';

const answerTo = (question: string): string =>
  demoCorpus().find(({ questions }) => questions.includes(question))?.answer ?? 'no such question in the corpus';

describe.skipIf(!hasChromium)('the window of a demo in a browser', () => {
  let demo: DemoProcess;
  let origin: string;
  let link: string;
  let browser: Browser;
  /** Cookies and all of the browser that opened the link. */
  let signedIn: Exclude<BrowserContextOptions['storageState'], string | undefined>;
  let pages: { page: Page; complaints: string[] }[] = [];

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    [browser] = await Promise.all([
      launchChromium(),
      (async () => {
        demo = startDemo(['--max-tokens', '4']);
        await demo.says(/Ctrl-C ends the demo/);
      })(),
    ]);
    link = /window.*: (http\S+)/.exec(demo.stdout())?.[1] ?? '';
    origin = new URL(link).origin;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(link);
    await page.getByText('Connected', { exact: true }).waitFor();
    expect(page.url()).toBe(`${origin}/`);
    signedIn = await context.storageState();
    await context.close();
  });

  afterEach(async () => {
    const open = pages;
    pages = [];
    for (const { page, complaints } of open) {
      await page.context().close();
      expect(complaints).toEqual([]);
    }
  });

  afterAll(async () => {
    await browser?.close();
    await demo?.dispose();
  });

  async function openWindow(options: BrowserContextOptions = {}, shown = 'pool'): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const page = await context.newPage();
    pages.push({ page, complaints: complaintsOf(page) });
    await page.goto(`${origin}/#/${shown}`);
    return page;
  }

  const fact = (page: Page, name: string) => page.locator('.facts div', { hasText: name }).locator('dd');
  const answers = (page: Page) => page.getByRole('log').locator('.answer');

  test('shows the placement of the model and the endpoint', async () => {
    const page = await openWindow({ storageState: signedIn });
    const cards = page.getByRole('region', { name: /^Placement of/ }).locator('.live-card');
    await cards.first().waitFor();
    const lines = demo.stdout().matchAll(/^(\w+) +(\d+) to (\d+) .* [KMG]B/gm);
    const printed = [...lines].map(([, member, first, last]) => `${member} layers ${first}–${last}`);
    const shown = await cards.evaluateAll((all) =>
      all.map(
        (card) =>
          `${card.querySelector('strong')?.textContent} ${card.querySelector('.member-node-line')?.textContent}`,
      ),
    );
    expect(printed).toHaveLength(3);
    expect(shown.map((text) => text.replace(/ ·.*/, ''))).toEqual(printed);
    expect(await page.locator('.hop-edge:not(.hop-edge-tokens)').count()).toBe(2);
    expect(await fact(page, 'Hops').textContent()).toBe('2');
    await page.getByRole('link', { name: 'Endpoint' }).click();
    await page.getByText(`${origin}/v1`, { exact: true }).waitFor();
  });

  test('streams answers, with the keyboard alone, and says how fast they came', async () => {
    const page = await openWindow({ storageState: signedIn });
    await page.getByRole('region', { name: /^Placement of/ }).waitFor();
    const focused = async () => {
      const [element] = await page.locator(':focus').all();
      return (await element?.getAttribute('aria-label')) ?? (await element?.textContent())?.trim();
    };
    const tabTo = async (name: string, key = 'Tab') => {
      for (let presses = 0; (await focused()) !== name; presses++) {
        expect(presses, name).toBeLessThan(30);
        await page.keyboard.press(key);
      }
    };
    await tabTo('Chat');
    await page.keyboard.press('Enter');
    await page.getByLabel('Your message').waitFor();
    await tabTo('Your message');
    await page.keyboard.type('What is a stage?');
    await page.keyboard.press('Enter');
    await answers(page).filter({ hasText: 'tokens per second' }).waitFor();
    expect(await answers(page).locator('p').first().textContent()).toBe(answerTo('What is a stage?'));
    await page.keyboard.type('What is a pipeline?');
    await page.keyboard.press('Enter');
    await answers(page).nth(1).filter({ hasText: 'tokens per second' }).waitFor();
    await tabTo('New chat', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.locator('.suggestion').waitFor();
    // It was kept, as the window finds after a reload.
    await page.reload();
    await page.getByRole('button', { name: 'What is a stage?' }).click();
    await answers(page).nth(1).waitFor();
    // The rate of the last answer arrives over the WebSocket.
    await page.getByRole('link', { name: 'Pool' }).click();
    await fact(page, 'Tokens / s')
      .filter({ hasText: /^[\d.]+$/ })
      .waitFor();
  });

  test('the copied curl command answers in a shell', async (context) => {
    if (spawnSync('curl', ['--version']).status !== 0) context.skip('there is no curl');
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await openWindow({ storageState: signedIn, permissions }, 'endpoint');
    await page.getByRole('button', { name: 'Copy the curl command' }).click();
    await page.getByRole('button', { name: 'Copy the curl command' }).filter({ hasText: 'Copied' }).waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    const { stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    const text = [...stdout.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)]
      .map(([, piece]) => JSON.parse(`"${piece}"`))
      .join('');
    expect(text).toBe(answerTo('What is a hop?'));
  });

  test('the link works once, and the page without it stays shut', async () => {
    for (const path of ['/', `/${new URL(link).hash}`]) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${origin}${path}`);
      await page.getByText('This page needs a fresh link').waitFor();
      expect(page.url()).toBe(`${origin}/`);
      await context.close();
    }
  });

  const looks = [900, 1440].flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
  );
  test.each(looks)('is accessible in $colorScheme at $width pixels', async ({ width, colorScheme }) => {
    const viewport = { width, height: (width / 16) * 10 > 600 ? 900 : 600 };
    const page = await openWindow({ storageState: signedIn, viewport, colorScheme });
    const check = async (view: string) => {
      await page.screenshot({ path: `${SCREENSHOTS}/${colorScheme}-${width}-${view}.png` });
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`)).toEqual([]);
    };
    const show = (name: string) => page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('region', { name: /^Placement of/ }).waitFor();
    await check('pool');
    await show('Planner');
    await page.getByText('Predicted:').waitFor();
    await check('planner');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('region', { name: 'Kept plan', exact: true }).waitFor();
    await check('compare');
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByRole('heading', { name: 'Share this plan' }).waitFor();
    await check('share');
    await page.keyboard.press('Escape');
    await show('Chat');
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.locator('.suggestion').click();
    await answers(page).filter({ hasText: 'tokens per second' }).waitFor();
    await check('chat');
    await show('Models');
    await page.getByRole('region', { name: 'Worth a try' }).waitFor();
    await check('models');
    await show('Settings');
    await page.getByRole('region', { name: 'This machine', exact: true }).waitFor();
    await check('settings');
    await show('Logs');
    await page.getByRole('region', { name: 'Health' }).waitFor();
    await check('logs');
    await show('Endpoint');
    await page.getByRole('button', { name: 'Copy the address' }).waitFor();
    await check('endpoint');
    expect(await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')).toBe(
      true,
    );
  });
});
