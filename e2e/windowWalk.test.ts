import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Page } from '@playwright/test';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callMember } from '../electron/cli/callMember.ts';
import { FakeHub } from '../electron/library/testing/fakeHub.ts';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { hasPythonClient, python, pythonEnv } from './testing/pythonClient.ts';
import { type WindowMember, WindowMembers } from './testing/windowMembers.ts';

const SCREENSHOTS = 'test-results/window';
const run = promisify(execFile);
const repository = fileURLToPath(new URL('..', import.meta.url));
/** What the snippets ask. */
const asked = 'What is a hop?';
const other = 'What is a stage?';
const answerTo = (question: string): string =>
  demoCorpus().find(({ questions }) => questions.includes(question))?.answer ?? 'no such question in the corpus';

const hasPython = hasPythonClient({ fetches: false });
if (!hasPython) process.stderr.write('SKIPPED: the Python snippet. It needs python3 with the package openai.\n');

/** What people do in the window beside the great flow, each by clicks, and whether it has really happened. */
describe.skipIf(!hasChromium)('a member that serves, a second one, and what one does with them', () => {
  let browser: Browser;
  let desk: WindowMember;
  let lap: WindowMember;
  let page: Page;
  const members = new WindowMembers();
  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await launchChromium();
    [desk, lap] = await Promise.all([members.start(browser, 'desk'), members.start(browser, 'lap')]);
    page = desk.page;
    await callMember(desk.home, 'create', { name: 'The room' });
    const { token } = await callMember(desk.home, 'invite', {});
    await callMember(lap.home, 'join', { token });
    await callMember(desk.home, 'importModel', { path: demoModelPath });
    await callMember(desk.home, 'serve', { modelPath: demoModelPath });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await members.close();
  });

  const show = (name: string) => page.getByRole('link', { name, exact: true }).first().click();
  const ask = (name: string) => page.getByRole('button', { name, exact: true }).first().click();
  const answers = () => page.locator('.answer');
  const textOf = async (answer: number) => (await answers().nth(answer).locator('p').first().textContent()) ?? '';
  const saved = async (button: string) => {
    const [download] = await Promise.all([page.waitForEvent('download'), ask(button)]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
  };

  test('Chat: an answer is tried again, a question asked in other words, both found, exported, and there after a restart', {
    timeout: 300_000,
  }, async () => {
    await show('Chat');
    await page.getByLabel('Your message').fill(asked);
    await page.keyboard.press('Enter');
    await page.getByText('tokens per second').waitFor();
    expect(await textOf(0)).toBe(answerTo(asked));

    await ask('Try again');
    await page.locator('.answer').getByText('2 / 2').waitFor();
    expect(await textOf(0)).toBe(answerTo(asked));

    await ask('Ask in other words');
    await page.getByLabel('The question in other words').fill(other);
    await ask('Ask');
    await page.getByText('tokens per second').waitFor();
    expect(await textOf(0)).toBe(answerTo(other));
    await ask('Earlier version');
    await page.locator('.question').getByText(asked).waitFor();
    await ask('Later version');
    await page.locator('.question').getByText(other).waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}/walk-chat.png` });

    const file = await saved('Export');
    expect(file.name).toBe('What-is-a-hop-.md');
    expect(file.text).toContain(`## ${other}\n\n${answerTo(other)}`);

    await ask('New chat');
    await page.getByLabel('Search in all chats').fill(answerTo(asked).slice(0, 20));
    await page.locator('.conversation-found').first().click();
    await page.locator('.question').getByText(asked).waitFor();

    await page.close();
    desk = await members.restart(browser, 'desk', desk);
    page = desk.page;
    await show('Chat');
    // The suggestion of an empty chat is called the same.
    await page.getByRole('region', { name: 'Conversations' }).getByRole('button', { name: asked, exact: true }).click();
    await answers().first().waitFor();
    const texts = [await textOf(0)];
    await page
      .getByLabel('Your question')
      .getByRole('button', { name: /version$/, disabled: false })
      .click();
    await expect.poll(() => textOf(0)).not.toBe(texts[0]);
    texts.push(await textOf(0));
    expect(texts.sort()).toEqual([answerTo(asked), answerTo(other)].sort());
  });

  test('Endpoint: Try it, and the curl, Node and Python snippets that are shown, really answer', {
    timeout: 300_000,
  }, async () => {
    await show('Endpoint');
    // The model comes back by itself after the restart.
    await page.getByRole('button', { name: 'Try it', disabled: false }).click({ timeout: 120_000 });
    await page.getByText('It works: “').waitFor();
    const snippet = async (name: string) => {
      await ask(name);
      return (await page.locator('.snippet pre').textContent()) ?? '';
    };
    const says = async (program: string, ...args: string[]) =>
      (await run(program, args, { cwd: repository, env: pythonEnv })).stdout;
    const texts = { curl: await snippet('curl'), node: await snippet('Node'), python: await snippet('Python') };
    const [streamed = '', ...others] = await Promise.all([
      says('sh', '-c', texts.curl),
      says(process.execPath, '--input-type=module', '--eval', texts.node),
      ...(hasPython ? [says(python, '-c', texts.python)] : []),
    ]);
    const pieces = [...streamed.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, text]) => JSON.parse(text ?? ''));
    for (const said of [pieces.join(''), ...others]) expect(said.trim()).toBe(answerTo(asked));
  });

  test('Logs: the export is a file with what a bug report needs', async () => {
    await show('Logs');
    await page.getByRole('region', { name: 'Health' }).waitFor();
    const { name, text } = await saved('Export for a bug report');
    expect(name).toBe('roomful-doctor.json');
    const report = JSON.parse(text);
    expect(report).toMatchObject({
      versions: { platform: expect.any(String) },
      status: { pool: { name: 'The room' } },
    });
    expect(report.members.map((member: { name: string }) => member.name).sort()).toEqual(['desk', 'lap']);
    expect(report.log.length).toBeGreaterThan(0);
  });

  test('Models: a download is stopped, gone on with, and discarded', async () => {
    const hub = await FakeHub.start();
    let release = (): void => {};
    hub.hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    try {
      hub.add('team/model-GGUF/slow.gguf', { bytes: readFileSync(demoModelPath) });
      await show('Models');
      await ask('Download');
      await page.getByLabel('Address, or hf:').fill(`${hub.cdnUrl}team/model-GGUF/slow.gguf`);
      await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
      const row = page.getByRole('region', { name: 'Downloads' }).getByRole('listitem');
      await row.getByRole('button', { name: 'Stop' }).click();
      await row.getByText(/^stopped/).waitFor();
      await row.getByRole('button', { name: 'Go on' }).click();
      await row.getByRole('button', { name: 'Stop' }).click();
      await row.getByRole('button', { name: 'Discard' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
      await row.waitFor({ state: 'detached' });
      expect((await callMember(desk.home, 'library', {})).downloads).toEqual([]);
    } finally {
      release();
      await hub.close();
    }
  });

  test('a model is stopped where it is shown, from any member', async () => {
    const placement = lap.page.getByRole('region', { name: /^Placement of/ });
    await placement.getByRole('button', { name: /^Stop/ }).click();
    await lap.page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await placement.waitFor({ state: 'detached' });
    await show('Pool');
    await page.getByText('No model is serving yet').waitFor();
  });

  test('Pool: the second machine is renamed and pinned by its owner, and removed by the admin', async () => {
    await show('Pool');
    const own = lap.page.getByRole('article', { name: 'lap' });
    await own.getByRole('button', { name: 'Rename' }).click();
    await lap.page.getByLabel('Name', { exact: true }).fill('laptop');
    await lap.page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    const card = page.getByRole('article', { name: 'laptop' });
    await card.getByText('ready').waitFor();
    await lap.page.getByRole('button', { name: 'Pin as leader' }).click();
    await card.getByText('pinned', { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await card.waitFor({ state: 'detached' });
    await lap.page.getByText('This machine was removed from The room.').waitFor();
    await lap.page.getByRole('button', { name: 'Create a pool' }).waitFor();
    await lap.page.screenshot({ path: `${SCREENSHOTS}/walk-removed.png` });
    expect([...desk.complaints, ...lap.complaints]).toEqual([]);
  });
});
