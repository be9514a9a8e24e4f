import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from '@playwright/test';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { conversationActions } from '../electron/gateway/conversations/conversationActions.ts';
import { ConversationStore } from '../electron/gateway/conversations/conversationStore.ts';
import { complaintsOf, hasChromium, launchChromium } from './testing/chromium.ts';
import { fullPool, fullState, roomActions } from './testing/galleryRoom.ts';
import { takeShifts, watchShifts } from './testing/layoutShifts.ts';
import { StagedAnswers } from './testing/stagedAnswers.ts';
import { type StagedWindow, stageWindow } from './testing/stagedWindow.ts';

const SCREENSHOTS = 'test-results/window';
const MOST_SHIFT = 0.01;

/** An answer with all that markdown has, as it arrives: `[what is said, what is seen of it]`. */
const pieces: readonly (readonly [string, string])[] = [
  ['# Where a *KV* cache lies\n\nEach member keeps ', 'Each member keeps'],
  ['that of **its own layers**, as https://example.com/kv says:', 'its own layers'],
  ['\n\n| member | layers | memory |\n| --- | --- | ---: |\n| desk | 0 to 33', '0 to 33'],
  [' | 1.1 GB |\n| macbook | 34 to 67 | 1.1 GB |\n| attic | 68 to 79 | 0.4 GB |\n\n', '0.4 GB'],
  ['## What follows\n\n1. A **slot** is the same number on all of them.\n2. It is freed ', 'It is freed'],
  ['within one step:\n   - when the client leaves,\n   - when the answer ends.\n\n', 'when the answer ends'],
  ['```python\ndef kv_bytes(layers, heads, size, tokens):\n', 'def kv_bytes'],
  ['    return 2 * layers * heads * size * tokens * 2\n```\n\n', 'return 2'],
  ['> Only tokens come back.\n\n---\n\nMore under [the design](https://example.com/design).', 'the design'],
];

describe.skipIf(!hasChromium)('the chat of the window', () => {
  let browser: Browser;
  let staged: StagedWindow;
  let answers: StagedAnswers;
  let chats: string;
  let page: Page;
  let complaints: string[];
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    chats = mkdtempSync(join(tmpdir(), 'roomful-chats-'));
    answers = new StagedAnswers();
    staged = await stageWindow({ ...roomActions, ...conversationActions(new ConversationStore(chats)) }, answers.route);
    staged.pool.set(fullPool());
    staged.state.set(fullState());
  });
  afterEach(async () => {
    await page?.context().close();
    await staged.close();
    rmSync(chats, { recursive: true, force: true });
    expect(complaints).toEqual([]);
  });

  async function openChat(colorScheme: 'light' | 'dark'): Promise<void> {
    const context = await browser.newContext({ viewport: { width: 900, height: 600 }, colorScheme });
    await watchShifts(context);
    page = await context.newPage();
    complaints = complaintsOf(page);
    await page.goto(staged.link());
    await page.getByRole('link', { name: 'Chat', exact: true }).click();
    await page.locator('.suggestion').waitFor();
  }

  /** Without keys and clicks, in whose wake no jump counts. */
  async function ask(question: string): Promise<void> {
    await page.getByLabel('Your message').fill(question);
    await page.evaluate("document.querySelector('.composer').requestSubmit()");
    await answers.asked();
  }

  test('nothing jumps while answers stream', async () => {
    await openChat('light');
    await takeShifts(page);
    let sum = 0;
    const moved: string[] = [];
    const note = async (what: string) => {
      for (const shift of await takeShifts(page)) {
        sum += shift.value;
        moved.push(`${what}: ${shift.value} ${shift.moved.join(', ')}`);
      }
    };
    for (const turn of [1, 2]) {
      await ask(`Where does a KV cache lie? (${turn})`);
      await page.getByText('Reading the question').waitFor();
      await note(`question ${turn}`);
      for (const [said, seen] of pieces) {
        answers.say(said);
        await page.locator('.answer').last().getByText(seen).first().waitFor();
        await note(`${turn}: ${seen}`);
      }
      answers.end(180);
      await page
        .locator('.answer')
        .nth(turn - 1)
        .getByText('tokens per second')
        .waitFor();
      await note(`end ${turn}`);
    }
    expect(sum, moved.join('\n')).toBeLessThanOrEqual(MOST_SHIFT);
  });

  test.each(['light', 'dark'] as const)('shows all of markdown, readably, in %s', async (colorScheme) => {
    await openChat(colorScheme);
    await ask('Where does a KV cache lie?');
    for (const [said] of pieces) answers.say(said);
    answers.end(180);
    const answer = page.locator('.answer');
    await answer.getByText('180 tokens').waitFor();
    expect(await answer.locator('table tr').allInnerTexts()).toEqual([
      'member\tlayers\tmemory',
      'desk\t0 to 33\t1.1 GB',
      'macbook\t34 to 67\t1.1 GB',
      'attic\t68 to 79\t0.4 GB',
    ]);
    expect(await answer.getByRole('link').evaluateAll((links) => links.map((link) => link.outerHTML))).toEqual([
      expect.stringMatching(/href="https:\/\/example.com\/kv".* target="_blank" rel="noopener noreferrer"/),
      expect.stringMatching(/href="https:\/\/example.com\/design".* target="_blank" rel="noopener noreferrer"/),
    ]);
    await page.setViewportSize({ width: 1100, height: 1100 });
    await page.screenshot({ path: `${SCREENSHOTS}/markdown-${colorScheme}.png` });
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`)).toEqual([]);
  });

  test('a question is asked in other words with the keyboard, and no text is lost', async () => {
    await openChat('light');
    const focused = () => page.evaluate<string>('document.activeElement.ariaLabel');
    const composer = page.getByLabel('Your message');
    await ask('Where does a KV cache lie?');
    const edit = page.getByRole('button', { name: 'Ask in other words' });
    await edit.press('Enter');
    expect(await focused()).toBe('The question in other words');
    await page.keyboard.press('Escape');
    expect(await focused()).toBe('Ask in other words');
    await page.keyboard.press('Enter');
    await page.keyboard.type(' And why?');
    // As long as an answer comes there is nothing to ask.
    await page.keyboard.press('Enter');
    expect(await page.getByRole('button', { name: 'Ask', exact: true }).isDisabled()).toBe(true);
    answers.say('On each member.');
    answers.end(4);
    await page.getByText('4 tokens').waitFor();
    await composer.fill('Half a thought');
    await page.getByRole('link', { name: 'Endpoint', exact: true }).click();
    await page.getByRole('heading', { name: 'Address' }).waitFor();
    await page.getByRole('link', { name: 'Chat', exact: true }).click();
    expect(await composer.inputValue()).toBe('Half a thought');
    const field = page.getByLabel('The question in other words');
    expect(await field.inputValue()).toBe('Where does a KV cache lie? And why?');
    await field.press('Enter');
    await answers.asked();
    expect(await focused()).toBe('Your message');
    await page.getByText('2 / 2').waitFor();
    answers.say('Each computes its own layers.');
    await page.getByText('its own layers').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText(/^Stopped · about 1 token · .*desk, macbook/).waitFor();
    // The first branch is as it was.
    await page.getByRole('button', { name: 'Earlier version' }).first().click();
    await page.getByText('On each member.').waitFor();
  });

  test('the colours that one chose are there again after a reload', async () => {
    await openChat('light');
    const ground = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    const light = await ground();
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.locator('label', { hasText: 'Dark' }).click();
    await expect.poll(ground).not.toBe(light);
    const dark = await ground();
    await page.reload();
    expect(await page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true);
    expect(await ground()).toBe(dark);
    await page.locator('label', { hasText: 'As the system' }).click();
    await expect.poll(ground).toBe(light);
    await page.reload();
    expect(await page.getByRole('radio', { name: 'As the system' }).isChecked()).toBe(true);
    expect(await ground()).toBe(light);
  });
});
