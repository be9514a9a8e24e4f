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

  const outside = () =>
    page.locator('.room-graph').evaluate((graph) => {
      const frame = graph.getBoundingClientRect();
      return [...graph.querySelectorAll('.member-node')].filter((card) => {
        const { left, right, top, bottom } = card.getBoundingClientRect();
        return left < frame.left || right > frame.right || top < frame.top || bottom > frame.bottom;
      }).length;
    });

  test('every member is in sight at any size of the window, after arranging, and when one asks for it', async () => {
    await openPlayground(1440, 900);
    for (const [width, height] of [
      [900, 600],
      [3840, 2160],
      [720, 480],
      [1440, 900],
    ] as const) {
      await page.setViewportSize({ width, height });
      await expect.poll(outside, { message: `${width} x ${height}` }).toBe(0);
    }
    const larger = page.getByRole('button', { name: 'Larger', exact: true });
    const zoomIn = async (): Promise<void> => {
      for (let step = 0; step < 6; step += 1) await larger.click();
      await expect.poll(outside).toBeGreaterThan(0);
    };
    await zoomIn();
    await page.getByRole('button', { name: 'Show the whole room', exact: true }).click();
    await expect.poll(outside).toBe(0);
    await zoomIn();
    await page.getByRole('button', { name: 'Arrange', exact: true }).click();
    await expect.poll(outside).toBe(0);
  });

  test('the details of a member come into sight wherever the panel was scrolled to', async () => {
    await openPlayground(900, 600);
    const panel = page.locator('.planner-panel');
    const toEnd = () => panel.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const isSeen = () =>
      panel.evaluate((element) => {
        const head = element.querySelector('.panel-member h2')?.getBoundingClientRect();
        const frame = element.getBoundingClientRect();
        return head !== undefined && head.top >= frame.top && head.bottom <= frame.bottom;
      });
    const name = page.locator('.member-node').first().locator('strong');
    await toEnd();
    await name.click();
    await expect.poll(isSeen).toBe(true);
    await toEnd();
    await expect.poll(isSeen).toBe(false);
    await name.click();
    await expect.poll(isSeen).toBe(true);
    await toEnd();
    await page.getByRole('button', { name: 'Add a member', exact: true }).click();
    await expect.poll(isSeen).toBe(true);
    await page.getByRole('heading', { name: 'Imagined member', exact: true }).waitFor();
  });

  test('why it cannot be served is said to the keyboard too, moves nothing and can be closed; Enter opens a link', async () => {
    await openPlayground(900, 600);
    const tops = () =>
      page
        .locator('.outcome, .room-view, .explanation, .planner-panel')
        .evaluateAll((all) => all.map((element) => element.getBoundingClientRect().top));
    const before = await tops();
    const serve = page.getByRole('button', { name: 'Serve', exact: true });
    await serve.focus();
    await page.keyboard.press('Enter');
    const said = page.getByRole('alert');
    expect(await said.textContent()).toBe('Choose a model of this machine to serve it from here.');
    expect(await tops()).toEqual(before);
    await page.getByRole('button', { name: 'Close the message', exact: true }).click();
    await said.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    const link = await page.locator('.share-link').textContent();
    await page.getByLabel('Link', { exact: true }).fill(link ?? '');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test.each([
    [900, 600],
    [1440, 900],
  ])('the words of a large room can be read at %i x %i', async (width, height) => {
    await openPlayground(width, height);
    const add = page.getByRole('button', { name: 'Add a member', exact: true });
    for (let more = 0; more < 7; more += 1) await add.click();
    await page.getByRole('button', { name: 'Arrange', exact: true }).click();
    const drawn = "new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a";
    const scale = () => page.evaluate<number>(drawn);
    await expect.poll(scale).toBeLessThan(0.8);
    const words = '.member-node strong, .member-node-line, .member-node .badge, .hop-edge text';
    const least = () =>
      page.evaluate<number>(
        `Math.min(...[...document.querySelectorAll('${words}')].map((word) => Number.parseFloat(getComputedStyle(word).fontSize) * ${drawn}))`,
      );
    await expect.poll(least).toBeGreaterThan(11.7);
    const cutOff = await page
      .locator('.member-node')
      .evaluateAll((all) => all.filter((card) => card.scrollHeight > card.clientHeight + 1).length);
    expect(cutOff).toBe(0);
  });
});
