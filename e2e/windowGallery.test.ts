import { mkdirSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from '@playwright/test';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { libraryModel } from '../electron/gateway/testing/memberFixtures.ts';
import { complaintsOf, hasChromium, launchChromium } from './testing/chromium.ts';
import {
  comingUp,
  fullLibrary,
  fullPool,
  fullState,
  openEndpoint,
  roomActions,
  roomFigures,
  servingRoom,
} from './testing/galleryRoom.ts';
import { takeShifts, watchShifts } from './testing/layoutShifts.ts';
import { type StagedWindow, stageWindow } from './testing/stagedWindow.ts';

const SCREENSHOTS = 'test-results/window';
const MOST_SHIFT = 0.01;
const LEAST_TEXT = 12; // px

const sizes = { small: [900, 600], usual: [1440, 900], '4k': [3840, 2160] } as const;
const looks = (['light', 'dark'] as const).flatMap((theme) =>
  Object.entries(sizes).map(([name, [width, height]]) => ({ theme, name, width, height })),
);

/** Every page and dialog, in the states that people see seldom too: looked at by axe here, and by people in the pictures. */
describe.skipIf(!hasChromium)('every page and dialog of the window', () => {
  let browser: Browser;
  let staged: StagedWindow;
  let page: Page;
  let complaints: string[];
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    staged = await stageWindow(roomActions);
  });
  afterEach(async () => {
    await page?.context().close();
    await staged.close();
    expect(complaints).toEqual([]);
  });

  async function openWindow(width: number, height: number, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme });
    await watchShifts(context);
    page = await context.newPage();
    complaints = complaintsOf(page);
    await page.goto(staged.link());
    await page.getByText('Connected', { exact: true }).waitFor({ state: 'attached' });
  }

  /** The busy room, in place of a machine alone. */
  function fill(): void {
    staged.pool.set(fullPool());
    staged.library.set(fullLibrary());
    staged.endpoint.set(openEndpoint());
    staged.state.set(fullState());
  }

  const show = (name: string) => page.getByRole('link', { name, exact: true }).first().click();
  const ask = (name: string) => page.getByRole('button', { name, exact: true }).first().click();

  test.each(looks)('$theme, $name', { timeout: 240_000 }, async ({ theme, name, width, height }) => {
    await openWindow(width, height, theme);
    const look = async (view: string) => {
      await page.evaluate('document.fonts.ready');
      await page.screenshot({ path: `${SCREENSHOTS}/all-${name}-${theme}-${view}.png` });
      expect.soft(await page.evaluate('document.documentElement.scrollWidth'), `${view} is not too wide`).toBe(width);
      expect.soft(await page.evaluate<string[]>(smallText(LEAST_TEXT)), `${view} has no small print`).toEqual([]);
      if (name === '4k') return;
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect.soft(violations.map(({ id, nodes }) => `${view}: ${id}: ${nodes[0]?.html}`)).toEqual([]);
    };
    const dialog = async (button: string, view: string) => {
      await ask(button);
      await page.getByRole('dialog').waitFor();
      await look(view);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const focused = await page.evaluate<string>('document.activeElement.textContent.trim()');
      expect.soft(focused, `${view} gives the focus back`).toBe(button);
    };
    await page.getByText('No model is serving yet').waitFor();
    await look('pool-empty');
    await dialog('Create a pool', 'dialog-create');
    await dialog('Join with a token', 'dialog-join');
    await show('Models');
    await page.getByText('No model on this machine yet').waitFor();
    await look('models-empty');
    await show('Chat');
    await page.getByText('As soon as one serves').waitFor();
    await look('chat-empty');
    await show('Endpoint');
    await page.getByRole('region', { name: 'Ready to copy' }).waitFor();
    await look('endpoint-closed');

    await show('Pool');
    fill();
    await page.getByRole('article', { name: 'lab-pc' }).waitFor();
    for (const queue of [0, 1, 3, 2, 4, 2]) {
      staged.state.set({
        ...fullState(),
        pipelines: [{ ...servingRoom, figures: roomFigures(queue, 8 + queue) }, ...fullState().pipelines.slice(1)],
      });
      await page
        .getByRole('img', { name: /^Queue lately/ })
        .waitFor({ timeout: 300 })
        .catch(() => {});
    }
    // As long as it lives, also right after it was made.
    await page.getByText(/, for 9 more minutes/).waitFor();
    await look('pool');
    await page.getByRole('region', { name: `Placement of ${servingRoom.modelId}` }).scrollIntoViewIfNeeded();
    await look('pool-placement');
    await page.getByRole('region', { name: 'What happened' }).scrollIntoViewIfNeeded();
    await look('pool-news');
    await dialog('Invite', 'dialog-invite');
    await dialog('Remove', 'dialog-remove');
    await dialog('Rename', 'dialog-rename');
    await dialog('Leave', 'dialog-leave');

    await show('Models');
    await page.getByRole('region', { name: 'Worth a try' }).waitFor();
    await look('models');
    await dialog('Download', 'dialog-download');
    await dialog('Delete', 'dialog-delete');
    await dialog('Discard', 'dialog-discard');

    await show('Chat');
    await ask('How a KV cache is laid out');
    await page.getByText('64 % of drafts accepted').first().waitFor();
    await look('chat');
    await ask('Settings');
    await look('chat-settings');

    await show('Endpoint');
    await page.getByRole('region', { name: 'Recent requests' }).waitFor();
    await look('endpoint');
    await ask('Make a key');
    await look('dialog-key');
    await page.keyboard.press('Escape');

    await show('Settings');
    await page.getByRole('region', { name: 'This machine', exact: true }).waitFor();
    await look('settings');
    await page.getByRole('region', { name: 'Models on this machine' }).scrollIntoViewIfNeeded();
    await look('settings-below');
    await show('Logs');
    await page.getByRole('region', { name: 'Health' }).waitFor();
    await look('logs');

    await show('Planner');
    await page.getByText('Predicted:').waitFor();
    await ask('Use the pool');
    await page.locator('.react-flow__node', { hasText: 'macbook' }).waitFor();
    await look('planner');
    await page.locator('.react-flow__node', { hasText: 'macbook' }).locator('strong').click();
    await page.getByRole('region', { name: 'Selected member' }).waitFor();
    await look('planner-member');
    await ask('Compare');
    await page.getByLabel('What to serve').selectOption({ index: 0 });
    await page.getByRole('region', { name: 'Kept plan', exact: true }).waitFor();
    await look('planner-compare');
    await ask('Share');
    await page.getByRole('heading', { name: 'Share this plan' }).waitFor();
    await look('planner-share');
  });

  test('nothing jumps while pages load and what they show changes', async () => {
    await openWindow(900, 600);
    fill();
    const still = async (what: string) => {
      const shifts = await takeShifts(page);
      const sum = shifts.reduce((total, { value }) => total + value, 0);
      expect.soft(sum, `${what}: ${JSON.stringify(shifts)}`).toBeLessThan(MOST_SHIFT);
    };
    const seen = {
      pool: () => page.getByRole('article', { name: 'lab-pc' }),
      planner: () => page.getByText('Predicted:'),
      models: () => page.getByRole('region', { name: 'Worth a try' }),
      chat: () => page.getByRole('button', { name: 'How a KV cache is laid out' }),
      endpoint: () => page.getByRole('region', { name: 'Recent requests' }),
      settings: () => page.getByLabel('Beside an answer'),
      logs: () => page.getByRole('region', { name: 'Health' }),
    };
    for (const [id, content] of Object.entries(seen)) {
      await page.goto('about:blank');
      await page.goto(`${staged.origin}/#/${id}`);
      await content().waitFor();
      await still(`${id} loads`);
    }

    await page.goto(`${staged.origin}/#/pool`);
    await seen.pool().waitFor();
    await takeShifts(page);
    for (const fraction of [0.5, 0.99]) {
      staged.state.set({ ...fullState(), pipelines: [servingRoom, { ...comingUp, fraction }] });
      await page.getByText(`load ${Math.floor(fraction * 100)} %`).waitFor();
      await still(`${fraction} is loaded`);
    }
    for (const queue of [9, 10, 123]) {
      staged.state.set({
        ...fullState(),
        pipelines: [{ ...servingRoom, figures: roomFigures(queue, queue * 10) }, comingUp],
      });
      await page.locator('.facts div', { hasText: 'Waiting' }).getByText(String(queue)).waitFor();
      await still(`${queue} wait`);
    }

    await page.goto(`${staged.origin}/#/models`);
    await seen.models().waitFor();
    await takeShifts(page);
    const { downloads, ...library } = fullLibrary();
    for (const bytes of [2e9, 4.8e9]) {
      const [first, ...others] = downloads;
      if (first === undefined) throw new Error('Nothing is downloaded.');
      staged.library.set({ ...library, downloads: [{ ...first, bytes, secondsLeft: 3600 }, ...others] });
      await page.getByText(`${(bytes / 1e9).toFixed(1)} GB of`).waitFor();
      await still(`${bytes} bytes have arrived`);
    }
    staged.library.set({ ...library, downloads, models: [...library.models, libraryModel('zz-arrived')] });
    await page.getByRole('listitem', { name: 'zz-arrived' }).waitFor();
    await still('a model comes last');
  });
});

/** Words that are drawn smaller than `least` px, the zoom of the playground left aside. */
function smallText(least: number): string {
  return `[...document.querySelectorAll('body *')]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
    .filter((element) => element.getClientRects().length > 0 && parseFloat(getComputedStyle(element).fontSize) < ${least})
    .map((element) => element.className + ': ' + element.textContent)`;
}
