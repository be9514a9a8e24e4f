import type { Browser, Page } from '@playwright/test';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { complaintsOf, hasChromium, launchChromium } from './testing/chromium.ts';
import { fullLibrary, fullPool, fullState, openEndpoint, roomActions } from './testing/galleryRoom.ts';
import { type StagedWindow, stageWindow } from './testing/stagedWindow.ts';

/** The playground by mouse and by keys, in a room of machines of many kinds. */
describe.skipIf(!hasChromium)('the playground', () => {
  let browser: Browser;
  let staged: StagedWindow;
  let page: Page;
  let complaints: string[];
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    staged = await stageWindow(roomActions);
    staged.pool.set(fullPool());
    staged.library.set(fullLibrary());
    staged.endpoint.set(openEndpoint());
    staged.state.set(fullState());
  });
  afterEach(async () => {
    await page?.context().close();
    await staged.close();
    expect(complaints).toEqual([]);
  });

  async function openPlayground(width: number, height: number): Promise<void> {
    const context = await browser.newContext({ viewport: { width, height } });
    page = await context.newPage();
    complaints = complaintsOf(page);
    await page.goto(staged.link());
    await page.getByRole('link', { name: 'Planner', exact: true }).first().click();
    await page.getByText('Predicted:').waitFor();
  }

  const stages = () => page.locator('.member-node-line').allTextContents();
  const figure = (name: string) => page.locator('.outcome div', { hasText: name }).locator('dd').first();

  test('draws every hop of the plan', async () => {
    await openPlayground(1440, 900);
    const hops = Number(await figure('Hop').textContent());
    expect(hops).toBeGreaterThan(0);
    await expect.poll(() => page.locator('.hop-edge:not(.hop-edge-tokens) path').count()).toBe(hops);
    const way = await page.locator('.hop-edge:not(.hop-edge-tokens) path').first().boundingBox();
    expect(Math.hypot(way?.width ?? 0, way?.height ?? 0)).toBeGreaterThan(5);
    expect(await page.locator('.hop-edge:not(.hop-edge-tokens)').first().textContent()).toMatch(/ms|µs/);
  });

  test('memory is dragged with the mouse: stages move while it is, and one undo takes all of it back', async () => {
    await openPlayground(1440, 900);
    const before = await stages();
    const holder = before.findIndex((line) => line.includes('layers'));
    const slider = page.locator('.member-node').nth(holder).locator('input[type=range]');
    const box = await slider.boundingBox();
    if (box === null) throw new Error('The slider is not drawn.');
    const share = await slider.evaluate(({ min, max, value }: { min: string; max: string; value: string }) => {
      return (Number(value) - Number(min)) / (Number(max) - Number(min));
    });
    const seen = new Set<string>();
    await page.mouse.move(box.x + 8 + share * (box.width - 16), box.y + box.height / 2);
    await page.mouse.down();
    for (let step = 10; step >= 0; step -= 1) {
      await page.mouse.move(box.x + 4 + ((share * step) / 10) * (box.width - 16), box.y + box.height / 2);
      await page.waitForTimeout(50);
      seen.add((await stages()).join('|'));
    }
    expect(seen.size).toBeGreaterThan(2);
    await page.mouse.up();
    expect(await stages()).not.toEqual(before);
    await page.locator('h1').click();
    await page.keyboard.press('Control+z');
    await expect.poll(stages).toEqual(before);
    await page.keyboard.press('Control+Shift+z');
    await expect.poll(stages).not.toEqual(before);
  });

  test('a member is dragged to another place, and its hops follow', async () => {
    await openPlayground(1440, 900);
    const card = page.locator('.react-flow__node', { hasText: 'layers' }).first();
    const path = () => page.locator('.hop-edge path').evaluateAll((all) => all.map((one) => one.getAttribute('d')));
    const [from, ways] = [await card.boundingBox(), await path()];
    if (from === null) throw new Error('The member is not drawn.');
    const name = await card.locator('strong').boundingBox();
    if (name === null) throw new Error('Its name is not drawn.');
    await page.mouse.move(name.x + 5, name.y + 5);
    await page.mouse.down();
    await page.mouse.move(name.x + 45, name.y + 65, { steps: 5 });
    await page.mouse.up();
    const to = await card.boundingBox();
    expect((to?.y ?? 0) - from.y).toBeGreaterThan(30);
    await expect.poll(path).not.toEqual(ways);
  });

  test('what is shared as a link opens as the same plan', async () => {
    await openPlayground(1440, 900);
    const slider = page.locator('.member-node').first().locator('input[type=range]');
    await slider.focus();
    for (let step = 0; step < 3; step += 1) await page.keyboard.press('ArrowLeft');
    const shared = await stages();
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    const link = await page.locator('.share-link').textContent();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+z');
    await slider.focus();
    for (let step = 0; step < 8; step += 1) await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByLabel('Link', { exact: true }).fill(link ?? '');
    await page.getByRole('button', { name: 'Open the link' }).click();
    await expect.poll(stages).toEqual(shared);
  });

  test('two plans side by side, also in a small window: nothing lies over anything', async () => {
    await openPlayground(900, 600);
    await page.getByRole('button', { name: 'Compare', exact: true }).first().click();
    await page.getByRole('region', { name: 'Kept plan', exact: true }).waitFor();
    const sides = await page.locator('.comparison-side').evaluateAll((all) =>
      all.map((side) =>
        [...side.children].map((part) => {
          const own = part.getBoundingClientRect();
          const inner = [...part.children].map((child) => child.getBoundingClientRect().bottom);
          return { top: own.top, bottom: Math.max(own.bottom, ...(part.className === 'explanation' ? [] : inner)) };
        }),
      ),
    );
    expect(sides).toHaveLength(2);
    for (const parts of sides) {
      for (const [at, { top }] of parts.entries()) {
        if (at > 0) expect(top).toBeGreaterThanOrEqual((parts[at - 1]?.bottom ?? 0) - 0.5);
      }
    }
  });
});
