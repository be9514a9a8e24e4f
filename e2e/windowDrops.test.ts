import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Browser } from '@playwright/test';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callMember } from '../electron/cli/callMember.ts';
import { generateModel } from './models/generateModel.ts';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { demoModelPath } from './testing/demoCorpus.ts';
import { dropOn } from './testing/dropOn.ts';
import { WindowMembers } from './testing/windowMembers.ts';

/** What a drop in a browser copies lives no longer than the model, and never in vain. */
describe.skipIf(!hasChromium)('files dropped on a window in a browser', () => {
  let browser: Browser;
  let folder: string;
  const members = new WindowMembers();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'roomful-drops-'));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await members.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('no model leaves nothing, a deleted one is dropped again, and a second drop stands in line', {
    timeout: 120_000,
  }, async () => {
    const { page, home, complaints } = await members.start(browser, 'desk');
    const kept = () => readdirSync(join(home, 'models')).sort();
    const added = page.getByRole('region', { name: 'Files being added' });
    const lines = () => added.locator('.progress-row').allInnerTexts();

    // What came with Roomful is tried without a network, and goes again.
    await page.getByRole('link', { name: 'Models', exact: true }).first().click();
    await page.getByRole('button', { name: 'Try the demo model' }).click();
    const demo = page.getByRole('listitem', { name: /^roomful-demo/ });
    await demo.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Try the demo model' }).waitFor();
    expect(kept()).toEqual([]);

    const noModel = join(folder, 'not.gguf');
    writeFileSync(noModel, 'hello');
    await dropOn(page, [{ path: noModel, name: 'not.gguf' }]);
    await added.getByText('is not a GGUF file').waitFor();
    expect(kept()).toEqual([]);

    const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 32, vocabulary: 300, tied: true } as const;
    const shards = await generateModel(join(folder, 'set.gguf'), {
      ...{ architecture: 'llama', ...shape, seed: 1 },
      shards: 3,
    });
    const set = shards.map((path) => ({ path, name: basename(path) }));
    const row = page.getByRole('listitem', { name: /^random-llama/ });
    await dropOn(page, set);
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByText("Its 3 files are deleted from this machine's disk.").waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    expect(kept()).toEqual([]);
    await dropOn(page, set);
    await row.waitFor();
    expect(kept()).toEqual(set.map(({ name }) => name));
    await added.getByRole('button', { name: 'Close' }).click();

    const another = join(folder, 'another.gguf');
    await generateModel(another, { architecture: 'qwen2', ...shape, seed: 2 });
    // The first copy is held until the second drop was made.
    let goOn = (): void => {};
    const isHeld = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await page.route('**/window/files/not.gguf', async (route) => {
      await isHeld;
      await route.continue();
    });
    await dropOn(page, [{ path: noModel, name: 'not.gguf' }]);
    await expect.poll(lines).toHaveLength(1);
    await dropOn(page, [{ path: another, name: 'another.gguf' }]);
    await expect
      .poll(lines)
      .toEqual([
        expect.stringMatching(/^not\.gguf\s*being taken in$/),
        expect.stringMatching(/^another\.gguf\s*waits$/),
      ]);
    goOn();
    await expect
      .poll(lines)
      .toEqual([expect.stringMatching(/^not\.gguf\s*not taken/), expect.stringMatching(/^another\.gguf\s*there$/)]);
    expect(kept()).toEqual(['another.gguf', ...set.map(({ name }) => name)]);
    expect(complaints.filter((line) => !line.includes('file_refused'))).toEqual([]);
  });

  test('what another machine has, and what the pool serves of it, is listed, planned, served and stopped from here', {
    timeout: 120_000,
  }, async () => {
    const [desk, lap] = [await members.start(browser, 'desk'), await members.start(browser, 'lap')];
    await callMember(desk.home, 'create', { name: 'The room' });
    await callMember(lap.home, 'join', { token: (await callMember(desk.home, 'invite', {})).token });
    await lap.page.getByRole('link', { name: 'Models', exact: true }).first().click();
    await lap.page.getByText('No model on this machine yet').waitFor();
    await callMember(desk.home, 'importModel', { path: demoModelPath });
    const row = lap.page.getByRole('region', { name: 'On other machines' }).getByRole('listitem', { name: /demo/ });
    await row.getByText('on desk', { exact: true }).waitFor();
    await row.getByText('fits on one member').waitFor();
    await row.getByRole('button', { name: 'Serve' }).click();
    await row.getByRole('status', { name: 'serving' }).waitFor({ timeout: 60_000 });
    await row.getByRole('button', { name: 'Stop' }).click();
    await lap.page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await row.getByRole('button', { name: 'Serve' }).waitFor({ timeout: 60_000 });
    expect((await callMember(desk.home, 'state', {})).pipelines.filter(({ state }) => state === 'serving')).toEqual([]);
    await row.getByRole('button', { name: 'Plan' }).click();
    await lap.page.getByText('Predicted:').waitFor();
    expect([...desk.complaints, ...lap.complaints]).toEqual([]);
  });
});
