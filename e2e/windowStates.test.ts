import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Page } from '@playwright/test';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { conversationActions } from '../electron/gateway/conversations/conversationActions.ts';
import { ConversationStore } from '../electron/gateway/conversations/conversationStore.ts';
import { createGateway } from '../electron/gateway/createGateway.ts';
import type { PoolState, ServingPipeline } from '../electron/gateway/memberApi.ts';
import { serveWindow } from '../electron/gateway/memberSocket.ts';
import { demoModel, keptLog, LOCAL_TOKEN } from '../electron/gateway/testing/demoGateway.ts';
import { figures, servingStage } from '../electron/gateway/testing/memberFixtures.ts';
import { servedModels, type WholeModel } from '../electron/gateway/testing/wholeModel.ts';
import { localMemberApi, MemberStateStore, type TopicSource } from '../electron/gateway/window/memberState.ts';
import { readRendererFiles } from '../electron/gateway/window/rendererFiles.ts';
import { WindowAccess } from '../electron/gateway/window/windowAccess.ts';
import type { ServedModel } from '../electron/pipeline/serving/servedModel.ts';
import { hasChromium, launchChromium } from './testing/chromium.ts';
import { closedEndpoint, emptyLibrary } from './testing/emptyTopics.ts';

const SCREENSHOTS = 'test-results/window';
const TOKEN_MS = 100;

/** The same model, so slow that one can act in the middle of an answer. */
function slowed(model: WholeModel): ServedModel {
  return {
    ...model,
    async *generate(request, signal) {
      for await (const token of model.generate(request, signal)) {
        yield token;
        await delay(TOKEN_MS, undefined, { signal });
      }
    },
  };
}

/** A topic that never changes. */
const still = <T>(value: T): TopicSource<T> => ({ value, onChange: () => () => {} });

const aloneInNoPool = still<PoolState>({
  status: { self: { id: 'm', name: 'desk' }, pool: null, coordinator: null, epoch: null, members: [], pipelines: [] },
  members: [],
  removed: null,
  invites: [],
});

/** What the window shows beside the good case, on a gateway whose state the test turns. */
describe.skipIf(!hasChromium)('the window', () => {
  let browser: Browser;
  let model: WholeModel;
  let access: WindowAccess;
  let state: MemberStateStore;
  let app: FastifyInstance;
  let port: number;
  let page: Page;
  let chats: string;

  const pipeline = (): ServingPipeline => ({
    id: 'p',
    contentId: '',
    modelId: model.id,
    aliases: [],
    embedsOnly: false,
    state: 'serving' as const,
    fraction: 0,
    reason: null,
    driver: { id: 'desk', name: 'desk' },
    contextLength: 4096,
    placement: [servingStage('desk', 0, 12, 5_700_000, 700_000)],
    hops: 0,
    lastTokensPerSecond: null,
    figures: null,
  });

  async function startGateway(wanted = 0): Promise<void> {
    app = createGateway({
      models: servedModels(slowed(model)),
      localToken: LOCAL_TOKEN,
      build: '0',
      log: keptLog().log,
    });
    const files = await readRendererFiles(fileURLToPath(new URL('../dist/renderer', import.meta.url)));
    serveWindow(app, {
      api: localMemberApi(
        { state, pool: aloneInNoPool, library: still(emptyLibrary), endpoint: still(closedEndpoint) },
        conversationActions(new ConversationStore(chats)),
      ),
      files,
      access,
      localToken: LOCAL_TOKEN,
    });
    port = Number(new URL(await app.listen({ host: '127.0.0.1', port: wanted })).port);
  }

  const link = () => `/#token=${access.createToken()}`;
  async function openWindow(options: BrowserContextOptions = {}, address = link()) {
    const context = await browser.newContext({ viewport: { width: 900, height: 600 }, ...options });
    page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}${address}`);
  }

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await launchChromium();
    model = await demoModel();
  });
  beforeEach(async () => {
    access = new WindowAccess();
    chats = mkdtempSync(join(tmpdir(), 'roomful-window-'));
    state = new MemberStateStore({ self: { id: 'm', name: 'desk' }, pipelines: [], endpoint: 'http://127.0.0.1/v1' });
    await startGateway();
  });
  afterEach(async () => {
    await page?.context().close();
    await app.close();
    rmSync(chats, { recursive: true, force: true });
  });
  afterAll(async () => {
    await browser?.close();
    await model?.dispose();
  });

  test.each(['light', 'dark'] as const)('says what to do next, readably, in %s', async (colorScheme) => {
    const check = async (view: string) => {
      await page.screenshot({ path: `${SCREENSHOTS}/${colorScheme}-900-${view}.png` });
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`)).toEqual([]);
    };
    await openWindow({ colorScheme });
    await page.getByText('begins with small ones').waitFor();
    await check('idle');
    await page.context().close();
    await openWindow({ colorScheme }, '/');
    await page.getByText('This page needs a fresh link').waitFor();
    await check('locked');
  });

  test('goes from idle to serving and back as the member does', async () => {
    await openWindow();
    await page.getByText('No model is serving yet').waitFor();
    state.update((now) => ({ ...now, pipelines: [pipeline()] }));
    await page.getByText('layers 0–11').waitFor();
    state.update((now) => ({ ...now, pipelines: [] }));
    await page.getByText('No model is serving yet').waitFor();
  });

  test('shows what was measured beside what was predicted', async () => {
    await openWindow();
    const stage = { member: 'desk', predictedMs: 1.1, measuredMs: 1.32, queueMs: 0.4 };
    const split = {
      ...pipeline(),
      placement: [servingStage('desk', 0, 8, 3_800_000, 400_000), servingStage('lap', 8, 12, 1_900_000, 300_000)],
      hops: 1,
      lastTokensPerSecond: 48.2,
    };
    const measured = (queue: number) =>
      figures({
        stages: [stage, { member: 'lap', predictedMs: 0.9, measuredMs: null, queueMs: 0 }],
        hops: [{ from: 'desk', to: 'lap', predictedMs: 0.5, measuredMs: 0.42, bytes: 2_000_000 }],
        queue,
        tokensPerSecond: 40 + queue,
      });
    const placement = page.getByRole('region', { name: /^Placement of/ });
    for (const queue of [0, 2, 3]) {
      state.update((now) => ({ ...now, pipelines: [{ ...split, figures: measured(queue) }] }));
      await placement.locator('.facts div').filter({ hasText: 'Waiting' }).getByText(String(queue)).waitFor();
    }
    await placement.getByText('1.3 ms (1.1 predicted)').waitFor();
    await placement.getByText('0.90 ms predicted').first().waitFor();
    const ways = placement.locator('.hop-edge');
    await expect.poll(() => ways.allTextContents()).toEqual(['0.42 ms0.50 ms predicted', '0.40 ms0.50 ms predicted']);
    await placement.getByText('Times of one token').click();
    const row = (name: string) => placement.getByRole('row', { name }).getByRole('cell').allTextContents();
    expect(await row('desk 1.3')).toEqual(['1.3 ms', '1.1 ms', '0.40 ms', '']);
    expect(await row('desk → lap')).toEqual(['0.42 ms', '0.50 ms', '', '2.0 MB']);
    const facts = Object.fromEntries(
      await placement
        .locator('.facts div')
        .evaluateAll((all) =>
          all.map((each) => [each.querySelector('dt')?.textContent, each.querySelector('dd')?.textContent]),
        ),
    );
    expect(facts).toMatchObject({
      'Tokens / s': '48.2',
      Predicted: '52.5',
      Running: '4',
      Waiting: '3',
      'Drafts accepted': '75 %',
    });
    await page.getByRole('img', { name: 'Queue lately, now 3' }).waitFor();
    // Every layer has one width: weights alone are cut into layers, buffers and KV are beside them.
    const widthOf = (part: string) =>
      placement
        .locator(part)
        .first()
        .evaluate((element) => element.clientWidth);
    const [bar, weights] = [await widthOf('.memory-bar'), await widthOf('.memory-weights')];
    const layer = await placement.locator('.memory-weights').first().getAttribute('style');
    expect(weights / bar).toBeCloseTo(3_400_000 / 3_800_000, 1);
    expect(Number(/background-size: ([\d.]+)px/.exec(layer ?? '')?.[1])).toBeCloseTo(weights / 8, 0);
    await page.screenshot({ path: `${SCREENSHOTS}/measured.png` });
  });

  test('Stop ends an answer in the middle, also for the model', async () => {
    state.update((now) => ({ ...now, pipelines: [pipeline()] }));
    await openWindow();
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.locator('.suggestion').click();
    await page.locator('.answer[data-state=streaming]').waitFor();
    expect(model.running()).toBe(1);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.answer[data-state=stopped]').getByText('Stopped').waitFor();
    await vi.waitFor(() => expect(model.running()).toBe(0));
    const text = await page.locator('.answer p').first().textContent();
    expect(text?.length).toBeGreaterThan(0);
    expect(text?.length).toBeLessThan(100);
  });

  test('an answer that the gateway refuses shows its line, and can be tried again', async () => {
    state.update((now) => ({ ...now, pipelines: [pipeline()] }));
    await openWindow();
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByLabel('Your message').fill('a hop '.repeat(3000));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').getByText('2048').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').getByText('2048').waitFor();
    expect(await page.locator('.turn').count()).toBe(1);
  });

  test('a lost connection is said and comes back by itself, with what was shown', async () => {
    state.update((now) => ({ ...now, pipelines: [pipeline()] }));
    await openWindow();
    await page.getByText('layers 0–11').waitFor();
    await app.close();
    await page.getByText('Connection lost, trying again').waitFor({ state: 'attached' });
    expect(await page.getByText('layers 0–11').isVisible()).toBe(true);
    state.update((now) => ({ ...now, pipelines: [{ ...pipeline(), id: 'q', lastTokensPerSecond: 12.34 }] }));
    await startGateway(port);
    await page.getByText('12.3').waitFor();
    await page.getByText('Connected').waitFor({ state: 'attached' });
  });
});
