import { mkdirSync } from 'node:fs';
import type { Browser, Page } from '@playwright/test';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { WindowMembers } from './testing/windowMembers.ts';

const SCREENSHOTS = 'test-results/window';
const MOST_STOPS = 60;
const { questions, answer } = demoCorpus()[0] ?? { questions: [''], answer: '' };

/** What has the focus: its role-like name for people, and whether one sees that it has it. */
const lookAtFocus = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { name: '', seen: true };
  const name = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent;
  const ringed = [element, element.nextElementSibling, element.parentElement, element.firstElementChild].some((one) => {
    if (one === null) return false;
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1;
  });
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const inSight = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
  return { name: name.trim(), seen: ringed && inSight };
})()`;

interface Hands {
  page: Page;
  /** Presses Tab until what is called so has the focus; everything on the way must show that it has it. */
  to(name: string | RegExp): Promise<void>;
  press(name: string | RegExp, key?: string): Promise<void>;
}

function handsOn(page: Page): Hands {
  const to = async (name: string | RegExp): Promise<void> => {
    const passed: string[] = [];
    for (;;) {
      const at = await page.evaluate<{ name: string; seen: boolean }>(lookAtFocus);
      expect(at.seen, `the focus is seen on "${at.name}"`).toBe(true);
      if (typeof name === 'string' ? at.name === name : name.test(at.name)) return;
      passed.push(at.name);
      expect(passed.length, `${name} is reached; passed ${passed.join(', ')}`).toBeLessThan(MOST_STOPS);
      await page.keyboard.press('Tab');
    }
  };
  const press = async (name: string | RegExp, key = 'Enter'): Promise<void> => {
    await to(name);
    await page.keyboard.press(key);
  };
  return { page, to, press };
}

describe.skipIf(!hasChromium)('the window without a mouse', () => {
  let browser: Browser;
  const members = new WindowMembers();
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await members.close();
  });

  async function member(name: string): Promise<Hands & { complaints: string[] }> {
    const { page, complaints } = await members.start(browser, name);
    return { ...handsOn(page), complaints };
  }

  test('create, invite, join, import, plan, serve, chat and stop', { timeout: 240_000 }, async () => {
    const desk = await member('desk');
    const { page, press, to } = desk;
    await page.getByRole('button', { name: 'Create a pool' }).waitFor();
    await press('Create a pool');
    await to('Name of the pool');
    await page.keyboard.type('The room');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The room' }).waitFor();
    // The pool is seen a moment before the answer that closes the dialog.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press('Invite');
    await page.getByRole('button', { name: 'Copy the token' }).waitFor();
    const token = (await page.locator('.token code').textContent()) ?? '';
    await press('Done');

    const lap = await member('lap');
    await lap.page.getByRole('button', { name: 'Join with a token' }).waitFor();
    await lap.press('Join with a token');
    await lap.to('Invite token');
    await lap.page.keyboard.insertText(token);
    await lap.press('Join');
    await page.getByRole('article', { name: 'lap' }).getByText('ready').waitFor();

    await press('Models');
    await page.getByRole('button', { name: 'Add from disk' }).waitFor();
    await press('Add from disk');
    await to('Path of a GGUF, or of a folder to watch');
    await page.keyboard.insertText(demoModelPath);
    await page.keyboard.press('Enter');
    await page.getByRole('listitem', { name: /roomful-demo/ }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press('Plan');
    await page.getByText('Predicted:').waitFor();
    await press('Any', 'ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.getByText('On 2 members').waitFor();
    await press('Fewest hops', 'ArrowRight');
    await expect.poll(() => page.getByRole('radio', { name: 'Everyone' }).isChecked()).toBe(true);
    await page.screenshot({ path: `${SCREENSHOTS}/keyboard-plan.png` });
    await press('Serve');
    await page.getByText(/serves on/).waitFor({ timeout: 60_000 });
    const placement = page.getByRole('region', { name: /^Placement of/ });
    await expect.poll(() => placement.locator('.live-card', { hasText: 'layer' }).count()).toBe(2);

    await press('Chat');
    await page.getByLabel('Your message').waitFor();
    await to('Your message');
    await page.keyboard.type(questions[0] ?? '');
    await page.keyboard.press('Enter');
    await page.locator('.answer').filter({ hasText: 'tokens per second' }).waitFor();
    expect(await page.locator('.answer p').first().textContent()).toBe(answer);

    await press('Models');
    const stop = page.getByRole('listitem', { name: /roomful-demo/ }).getByRole('button', { name: 'Stop' });
    await stop.waitFor();
    await press('Stop');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Tab');
    await press('Stop');
    await stop.waitFor({ state: 'detached' });
    expect(desk.complaints).toEqual([]);
    expect(lap.complaints).toEqual([]);
  });
});
