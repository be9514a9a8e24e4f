import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { type DemoProcess, startDemo } from './testing/demoProcess.ts';
import { processTree, stillRunning } from './testing/processTree.ts';

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
  const answer = await fetch(`${endpoint}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: data[0]?.id,
      temperature: 0,
      messages: [{ role: 'user', content: 'What is a pipeline?' }],
    }),
  });
  expect(await answer.text()).toContain(answerTo('What is a pipeline?'));
  const tree = processTree(started.child.pid ?? 0);
  expect(tree.length).toBeGreaterThanOrEqual(10);
  process.kill(-(started.child.pid ?? 0), 'SIGINT');
  await started.exit;
  await expect.poll(() => stillRunning(tree), { timeout: 9000 }).toEqual([]);
});

describe('kill -9', () => {
  const victims = [
    ['npm', /^npm/],
    ['the demo', /run\.mjs|cli\/main/],
    ['the coordinator', /headless.*ada/],
    ['another member', /headless.*bob/],
    ['a stage host', /stageHost/],
    ['an engine host', /engineHost/],
  ] as const;

  test.each(victims)('of %s leaves no orphan', async (_, pattern) => {
    const started = demo(['--max-tokens', '4']);
    await started.says(/Ctrl-C ends the demo/);
    const tree = processTree(started.child.pid ?? 0);
    const victim = tree.find(({ command }) => pattern.test(command));
    if (victim === undefined) throw new Error(`not among\n${tree.map(({ command }) => command).join('\n')}`);
    process.kill(victim.pid, 'SIGKILL');
    // Three seconds are promised on an idle machine; this one runs other things too.
    await expect
      .poll(
        () =>
          stillRunning(tree).filter(({ pid }) => !processTree(started.child.pid ?? 0).some((one) => one.pid === pid)),
        {
          timeout: 9000,
          interval: 100,
        },
      )
      .toEqual([]);
  });
});

describe('what cannot work is said in one line, and leaves nothing', () => {
  const cases: [string, string[], RegExp][] = [
    ['a file that is not there', ['--model', '/nowhere/model.gguf'], /nowhere/],
    ['a file that is no GGUF', ['--model', new URL(import.meta.url).pathname], /GGUF/],
    ['more members than layers', ['--members', '12', '--model', demoModelPath, '--max-tokens', '0'], /max-tokens/],
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
