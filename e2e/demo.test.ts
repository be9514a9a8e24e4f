import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { demoCorpus, demoDraftPath } from './testing/demoCorpus.ts';
import { type DemoProcess, startDemo } from './testing/demoProcess.ts';
import { processesOf, processTree, stillRunning } from './testing/processTree.ts';

const summarySchema = z.strictObject({
  placement: z.array(
    z.strictObject({ member: z.string(), startLayer: z.int(), endLayer: z.int(), bytes: z.int().positive() }),
  ),
  hops: z.int(),
  text: z.string(),
  tokens: z.int().positive(),
  tokensPerSecond: z.number().positive(),
  endpoint: z.url(),
});

const answerTo = (question: string): string | undefined =>
  demoCorpus().find(({ questions }) => questions.includes(question))?.answer;

let running: DemoProcess[] = [];
const demo = (...args: Parameters<typeof startDemo>): DemoProcess => {
  const started = startDemo(...args);
  running.push(started);
  return started;
};
afterEach(async () => {
  await Promise.all(running.map((one) => one.dispose()));
  running = [];
});

const ask = (endpoint: string, question: string): Promise<Response> =>
  fetch(`${endpoint}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'roomful-demo', temperature: 0, messages: [{ role: 'user', content: question }] }),
  });

async function summaryOf(started: DemoProcess): Promise<z.infer<typeof summarySchema>> {
  expect(await started.exit, started.stderr()).toBe(0);
  return summarySchema.parse(JSON.parse(started.stdout()));
}

test('three members answer together, as one JSON object with nothing beside it on stdout', async () => {
  const started = demo(['--exit', '--json'], { quiet: true });
  const { placement, hops, text } = await summaryOf(started);
  expect(text).toBe(answerTo('What is a hop?'));
  expect(hops).toBe(2);
  expect(placement).toHaveLength(3);
  expect(new Set(placement.map(({ member }) => member)).size).toBe(3);
  expect(placement.map(({ startLayer }) => startLayer)).toEqual([
    0,
    ...placement.slice(0, -1).map((one) => one.endLayer),
  ]);
  expect(placement.at(-1)?.endLayer).toBe(12);
  expect(readdirSync(join(started.home, 'demo'))).toEqual([]);
});

test.each([1, 2, 5])('%i members and exact activations give the same answer', async (members) => {
  const args = ['--exit', '--json', '--exact', '--members', String(members), '--prompt', 'What is a stage?'];
  const { placement, hops, text } = await summaryOf(demo(args, { quiet: true }));
  expect(placement).toHaveLength(members);
  expect(hops).toBe(members - 1);
  expect(text).toBe(answerTo('What is a stage?'));
});

test('a model of your own, by a relative path', async () => {
  const args = ['--exit', '--json', '--members', '2', '--model', 'resources/demo/demo-draft.gguf', '--max-tokens', '5'];
  const { placement, tokens } = await summaryOf(demo(args, { quiet: true }));
  expect(placement.map(({ startLayer, endLayer }) => [startLayer, endLayer])).toEqual([
    [0, 1],
    [1, 2],
  ]);
  expect(tokens).toBeLessThanOrEqual(5);
});

test('it prints the placement, the answer, its speed and how to try it, and Ctrl-C ends it whole', async () => {
  const started = demo(['--max-tokens', '8']);
  await started.says(/Ctrl-C ends the demo/);
  const out = started.stdout();
  expect(out).toMatch(/^member +layers +bytes +hops$/m);
  expect(out).toMatch(/8 tokens, [\d.]+ tokens per second/);
  const endpoint = /endpoint: (\S+)/.exec(out)?.[1] ?? '';
  const models = z.object({ data: z.array(z.object({ id: z.string() })) });
  const { data } = models.parse(await (await fetch(`${endpoint}/models`)).json());
  expect(data).toEqual([{ id: 'roomful-demo-q8_0' }]);
  const answer = await ask(endpoint, 'What is a pipeline?');
  expect(await answer.text()).toContain(answerTo('What is a pipeline?'));
  const tree = processTree(started.child.pid ?? 0);
  expect(tree.length).toBeGreaterThanOrEqual(10);
  process.kill(-(started.child.pid ?? 0), 'SIGINT');
  await started.exit;
  await expect.poll(() => stillRunning(tree), { timeout: 9000 }).toEqual([]);
});

test('interrupted before it has answered it leaves at once, without success and without a trace', async () => {
  const started = demo(['--exit', '--json'], { quiet: true });
  await started.says(/Starting 3 members/);
  const tree = processTree(started.child.pid ?? 0);
  for (let presses = 0; presses < 3; presses += 1) process.kill(-(started.child.pid ?? 0), 'SIGINT');
  expect(await started.exit).not.toBe(0);
  expect(started.stdout()).toBe('');
  await expect.poll(() => stillRunning(tree), { timeout: 9000 }).toEqual([]);
  await expect.poll(() => processesOf(started.home), { timeout: 9000 }).toEqual([]);
  expect(readdirSync(join(started.home, 'demo'))).toEqual([]);
});

test('a reader that leaves ends it in order', async () => {
  const started = demo(['--exit', '--json'], { quiet: true });
  started.child.stdout?.destroy();
  await started.exit;
  expect(started.stderr()).not.toMatch(/Unhandled|at .*\.js/);
  expect(readdirSync(join(started.home, 'demo'))).toEqual([]);
});

describe('kill -9', () => {
  /** Three seconds are promised on an idle machine; this one runs other things too. */
  const ORPHAN_TIMEOUT_MS = 9000;

  const kill = (tree: ReturnType<typeof processTree>, pattern: RegExp): void => {
    const victim = tree.find(({ command }) => pattern.test(command));
    if (victim === undefined) throw new Error(`not among\n${tree.map(({ command }) => command).join('\n')}`);
    process.kill(victim.pid, 'SIGKILL');
  };
  const noneLeft = (tree: ReturnType<typeof processTree>): Promise<void> =>
    expect.poll(() => stillRunning(tree), { timeout: ORPHAN_TIMEOUT_MS, interval: 100 }).toEqual([]);

  test.each([
    ['npm', /^npm/],
    ['the demo', /run\.mjs/],
    ['the coordinator', /headless.*ada/],
    ['another member', /headless.*bob/],
  ] as const)('of %s ends all of it', async (_, pattern) => {
    const started = demo(['--max-tokens', '4']);
    await started.says(/Ctrl-C ends the demo/);
    const tree = processTree(started.child.pid ?? 0);
    kill(tree, pattern);
    await noneLeft(tree);
  });

  test('of the demo while its members start leaves none of them', async () => {
    const started = demo([]);
    await started.says(/Starting 3 members/);
    let tree = processTree(started.child.pid ?? 0);
    await expect
      .poll(() => {
        tree = processTree(started.child.pid ?? 0);
        return tree.filter(({ command }) => /headless/.test(command)).length;
      })
      .toBe(3);
    kill(tree, /run\.mjs/);
    await noneLeft(tree);
    await expect.poll(() => processesOf(started.home), { timeout: ORPHAN_TIMEOUT_MS }).toEqual([]);
  });

  const endpointOf = (started: DemoProcess): string => /endpoint: (\S+)/.exec(started.stdout())?.[1] ?? '';

  test('of a stage host is told to whoever asks, and leaves nothing behind', async () => {
    const started = demo(['--max-tokens', '4']);
    await started.says(/Ctrl-C ends the demo/);
    const tree = processTree(started.child.pid ?? 0);
    kill(tree, /stageHost/);
    await noneLeft(tree.filter(({ command }) => /stageHost/.test(command)));
    const refused = await ask(endpointOf(started), 'What is a hop?');
    expect(refused.status).toBe(503);
    expect(await refused.text()).toMatch(/was lost/);
  });

  test('of an engine host costs nobody an answer', async () => {
    const started = demo(['--max-tokens', '4']);
    await started.says(/Ctrl-C ends the demo/);
    const tree = processTree(started.child.pid ?? 0);
    const coordinator = tree.find(({ command }) => /headless.*ada/.test(command))?.pid;
    const engine = tree.find(({ command, parent }) => parent === coordinator && /engineHost/.test(command));
    process.kill(engine?.pid ?? 0, 'SIGKILL');
    const answer = await ask(endpointOf(started), 'What is a hop?');
    expect(await answer.text()).toContain(answerTo('What is a hop?'));
  });
});

describe('what cannot work is said in one line, and leaves nothing', () => {
  const cases: [string, string[], RegExp][] = [
    ['a file that is not there', ['--model', '/nowhere/model.gguf'], /nowhere/],
    ['a file that is no GGUF', ['--model', new URL(import.meta.url).pathname], /GGUF/],
    ['more members than layers', ['--members', '3', '--model', demoDraftPath], /has 2 layers.*--members 2/],
    ['no tokens at all', ['--max-tokens', '0'], /max-tokens/],
    ['members that are no number', ['--members', 'many'], /members/],
    ['an option that there is not', ['--nonsense'], /nonsense/],
  ];

  test.each(cases)('%s', async (_, args, words) => {
    const started = demo([...args, '--exit'], { quiet: true });
    expect(await started.exit).toBe(1);
    const lines = started.stderr().trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(words);
    expect(started.stdout()).toBe('');
    expect(readdirSync(started.home)).toEqual([]);
  });
});
