import { mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Browser, Page } from '@playwright/test';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callMember } from '../electron/cli/callMember.ts';
import { poolFingerprint } from '../electron/pool/trust/poolFingerprint.ts';
import { generateModel } from './models/generateModel.ts';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { dropOn } from './testing/dropOn.ts';
import { processTree } from './testing/processTree.ts';
import { WindowMembers } from './testing/windowMembers.ts';

const SCREENSHOTS = 'test-results/window';
const { questions, answer } = demoCorpus()[0] ?? { questions: [''], answer: '' };
const question = questions[0] ?? '';

/** The way of a person through the window: two machines become a pool that serves a model that was dropped. */
describe.skipIf(!hasChromium)('two members and their windows', () => {
  let browser: Browser;
  const members = new WindowMembers();
  /** Of the first member. */
  let home: string;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await members.close();
  });

  const member = (name: string) => members.start(browser, name);
  const show = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first().click();
  const shoot = (page: Page, view: string) => page.screenshot({ path: `${SCREENSHOTS}/flow-${view}.png` });

  test('create, invite, join, drop, plan, serve, chat, call, and lose a member', { timeout: 240_000 }, async () => {
    const desk = await member('desk');
    home = desk.home;
    const { page } = desk;
    await page.getByRole('button', { name: 'Create a pool' }).click();
    await page.getByLabel('Name of the pool').fill('The room');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'The room' }).waitFor();
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('button', { name: 'Copy the token' }).waitFor();
    const token = (await page.locator('.token code').textContent()) ?? '';
    // What whoever opens the link is asked to compare.
    const { pool: made } = await callMember(desk.home, 'status', {});
    await page.getByText(poolFingerprint(made?.id ?? 'none'), { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy the link' }).waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    // An invite that is withdrawn is gone, and lets nobody in.
    const pending = page.getByRole('region', { name: 'Pending joins' });
    await pending.getByText('One machine may still join').waitFor();
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('button', { name: 'Copy the token' }).waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await pending.getByText('2 machines may still join').waitFor();
    await pending.getByRole('button', { name: 'Withdraw' }).nth(1).click();
    await pending.getByText('One machine may still join').waitFor();

    const lap = await member('lap');
    await lap.page.getByRole('button', { name: 'Join with a token' }).click();
    await lap.page.getByLabel('Invite token').fill(token);
    await lap.page.getByRole('button', { name: 'Join', exact: true }).click();
    await lap.page.getByRole('article', { name: 'desk' }).getByText('ready').waitFor();
    await page.getByRole('article', { name: 'lap' }).getByText('ready').waitFor();
    await pending.waitFor({ state: 'detached' });
    await shoot(page, 'pool');
    expect(await lap.page.getByRole('region', { name: 'A second admin' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Make lap an admin' }).click();
    await page.getByRole('button', { name: 'Make admin', exact: true }).last().click();
    await page.getByRole('region', { name: 'A second admin' }).waitFor({ state: 'detached' });

    // A split set, its files in any order, is one import.
    const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 32, vocabulary: 300, tied: true } as const;
    const set = join(desk.home, 'dropped', 'set.gguf');
    mkdirSync(dirname(set));
    const shards = await generateModel(set, { architecture: 'llama', ...shape, seed: 1, shards: 3 });
    await dropOn(
      page,
      [2, 0, 1].map((n) => shards[n] ?? '').map((path) => ({ path, name: basename(path) })),
    );
    await page
      .getByRole('listitem', { name: /^random-llama/ })
      .getByRole('button', { name: 'Plan' })
      .waitFor();
    const added = page.getByRole('region', { name: 'Files being added' });
    await added.getByRole('heading', { name: 'Added' }).waitFor();
    expect(await added.locator('.progress-row').allInnerTexts()).toEqual([
      expect.stringMatching(/^set\.gguf · 3 files\s*there$/),
    ]);
    await added.getByRole('button', { name: 'Close' }).click();

    await show(page, 'Settings');
    await page.getByLabel('Speed between members').selectOption({ label: '50.0 MB/s' });
    await page.getByLabel('Disk for parts of models').selectOption({ label: '20.0 GB' });
    await page.getByLabel('Beside an answer').selectOption({ label: '25 %' });
    await expect
      .poll(() => callMember(desk.home, 'limits', {}))
      .toEqual({ diskBytes: 20e9, bytesPerSecond: 50e6, loadedShare: 0.25 });

    await dropOn(page, [{ path: demoModelPath, name: 'roomful-demo.gguf' }]);
    const row = page.getByRole('listitem', { name: /roomful-demo/ });
    await row.getByRole('button', { name: 'Plan' }).click();
    await page.getByText('Predicted:').waitFor();
    await page.locator('label', { hasText: 'Several' }).click();
    await page.getByText('On 2 members').waitFor();
    await shoot(page, 'plan');
    await page.getByRole('button', { name: 'Serve', exact: true }).click();
    const placement = page.getByRole('region', { name: /^Placement of/ });
    await expect.poll(() => placement.getByText(/^layers? \d/).count(), { timeout: 60_000 }).toBe(2);
    await page.getByText(/serves on/).waitFor({ timeout: 60_000 });
    await shoot(page, 'serving');

    await show(page, 'Chat');
    await page.getByLabel('Your message').fill(question);
    await page.keyboard.press('Enter');
    await page.locator('.answer').filter({ hasText: 'tokens per second' }).waitFor();
    expect(await page.locator('.answer p').first().textContent()).toBe(answer);
    const line = await page.locator('.answer-line').textContent();
    expect(line).toContain('desk');
    expect(line).toContain('lap');

    await show(page, 'Endpoint');
    const address = (await page.locator('.copy-row code').textContent()) ?? '';
    const client = new OpenAI({ baseURL: address, apiKey: 'any' });
    const [model] = (await client.models.list()).data;
    const completion = await client.chat.completions.create({
      model: model?.id ?? '',
      messages: [{ role: 'user', content: question }],
      temperature: 0,
    });
    expect(completion.choices[0]?.message.content).toContain(answer.slice(0, 20));

    const requests = page.getByRole('region', { name: 'Recent requests' });
    await requests
      .getByRole('row', { name: /\/v1\/chat\/completions .*this machine 200/ })
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.getByLabel('What it is for').fill('the printer');
    await page.getByRole('button', { name: 'Make it' }).click();
    expect(await page.getByRole('dialog').locator('code').textContent()).toMatch(/^\S{20,}$/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: /^the printer … ?\S{4} never/ }).waitFor();
    await shoot(page, 'endpoint');
    await page.getByRole('button', { name: 'Revoke the printer' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the printer' }).click();
    await page.getByText('None yet. A key lets').waitFor();

    // In the middle of an answer: its stage stands still, so that the answer cannot end before the member does.
    await show(page, 'Chat');
    const stages = processTree(lap.child.pid ?? 0).filter(({ command }) => command.includes('stageHost'));
    expect(stages).toHaveLength(1);
    for (const { pid } of stages) process.kill(pid, 'SIGSTOP');
    await page.getByLabel('Your message').fill(question);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    lap.child.kill('SIGKILL');
    for (const { pid } of stages) process.kill(pid, 'SIGKILL');
    await page
      .locator('.answer')
      .last()
      .getByText(/was lost/)
      .waitFor();
    await page.locator('.answer').last().getByRole('button', { name: 'Try again' }).waitFor();
    await shoot(page, 'chat-lost');

    await show(page, 'Pool');
    await page.getByText(/^lap is lost/).waitFor();
    await page.getByRole('article', { name: 'lap' }).getByText('lost', { exact: true }).waitFor();
    await page.getByText(/has ended: .*lap/).waitFor();
    await page.getByRole('alert').filter({ hasText: 'lap' }).waitFor();
    await page.getByRole('button', { name: 'Serve it again' }).waitFor();
    await shoot(page, 'lost');
    await placement.getByText('lap was lost: the connection to it broke.').waitFor();
    await page.getByRole('button', { name: 'Put it away' }).click();
    await placement.waitFor({ state: 'detached' });
    expect(desk.complaints).toEqual([]);
  });

  test('a member that gets more memory takes more layers, and undo gives them back', async () => {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto((await callMember(home, 'windowLink', {})).link);
    await show(page, 'Planner');
    const node = page.locator('.react-flow__node', { hasText: 'workstation' });
    await node.getByText(/layers/).waitFor();
    const before = await node.locator('.member-node-line').textContent();
    await page.getByLabel('Memory of workstation').focus();
    for (let step = 0; step < 6; step++) await page.keyboard.press('ArrowRight');
    await expect.poll(() => node.locator('.member-node-line').textContent()).not.toBe(before);
    await page.getByRole('button', { name: 'Undo' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => node.locator('.member-node-line').textContent()).toBe(before);
  });
});
