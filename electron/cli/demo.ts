import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { modelShape } from '../gguf/modelShape.ts';
import { openModel } from '../gguf/openModel.ts';
import type { ServeEvent } from '../pipeline/serving/serveEvents.ts';
import type { PlacedStage } from '../planner/placedStage.ts';
import { type ChildMember, startChildMember } from './childMember.ts';
import { createDemoHome } from './demoHome.ts';
import { type DemoOptions, parseMaxTokens, parseMembers, parseTemperature } from './demoOptions.ts';
import { demoShares } from './demoShares.ts';
import { exitWithParent } from './exitWithParent.ts';
import { placementTable } from './placementTable.ts';
import { serveModel } from './serveModel.ts';
import { type ChatAnswer, streamChat } from './streamChat.ts';

const NAMES = ['ada', 'bob', 'cleo', 'dan', 'eve', 'finn', 'gus', 'hal', 'ivy', 'jon', 'kim', 'lea'];

/** Exit code of a program that SIGINT has ended, as shells have it. */
const INTERRUPTED = 130;

/** `roomful demo`: several members on this machine share one model and answer a question. */
export function demoCommand(): Command {
  return new Command('demo')
    .description('three members on this machine share one model and answer a question')
    .option('--prompt <text>', 'what to ask', 'What is a hop?')
    .option('--members <n>', 'how many members to start', parseMembers, 3)
    .option('--model <file>', 'a GGUF of your own; any file of a split one finds the set')
    .option('--exact', '32-bit activations between the members')
    .option('--max-tokens <n>', 'most tokens of the answer', parseMaxTokens, 256)
    .option('--temperature <t>', '0 always takes the likeliest token', parseTemperature, 0)
    .option('--exit', 'end after the answer')
    .option('--json', 'one JSON object on stdout, progress on stderr')
    .action(runDemo);
}

async function runDemo(options: DemoOptions): Promise<void> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  // Not once: a second Ctrl-C must not cut the cleaning up short.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  // Nobody reads on (`| head`), or the disk is full.
  process.stdout.on('error', interrupt);
  exitWithParent(interrupt);

  const say = (line: string): void => void (options.json ? process.stderr : process.stdout).write(`${line}\n`);
  const bundled = fileURLToPath(new URL('../../../resources/demo/demo.gguf', import.meta.url));
  const modelPath = resolve(callersFolder(), options.model ?? bundled);
  const shape = modelShape(await openModel(modelPath));
  const shares = demoShares(shape, options.members);
  const home = createDemoHome();
  const members: ChildMember[] = [];
  let answered = false;
  try {
    say(`Starting ${shares.length} ${shares.length === 1 ? 'member' : 'members'} on this machine ...`);
    const names = shares.map((_, index) => NAMES[index] ?? `member-${index + 1}`);
    const homes = names.map((name) => join(home.path, name));
    // Not at the top, where every other command would wait for what makes certificates.
    const { foundPool } = await import('../pool/foundPool.ts');
    await foundPool(join(home.path, 'pool'), homes);
    members.push(...(await startMembers(homes, names, shares, stop.signal)));
    const first = members[0];
    if (first === undefined) throw new Error('No member has started.');
    const gateway = { origin: first.gateway, tokenFile: first.tokenFile };
    const order = {
      modelPath,
      members: members.map(({ address, id }) => ({ address, id })),
      exact: options.exact ?? false,
    };
    const serving = await comeUp(serveModel(gateway, order, stop.signal), say);
    const endpoint = `${first.gateway}/v1`;
    say(`\n> ${options.prompt}\n`);
    const { prompt, maxTokens, temperature } = options;
    const request = { model: serving.model, prompt, maxTokens, temperature };
    const show = (text: string): void => void (options.json ? process.stderr : process.stdout).write(text);
    const answer = await streamChat(endpoint, request, show, stop.signal);
    answered = true;
    say(`\n\n${answer.tokens} tokens, ${answer.tokensPerSecond.toFixed(1)} tokens per second`);
    if (options.json) process.stdout.write(`${JSON.stringify(summary(serving, answer, endpoint))}\n`);
    if (options.exit) return;
    say(howToTry(endpoint, serving.model, options.prompt));
    say(`\nThe window, for one browser: ${first.windowLink}\n\nCtrl-C ends the demo.`);
    await Promise.race([aborted(stop.signal), ...members.map(lost)]);
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
    if (!answered) process.exitCode = INTERRUPTED;
  } finally {
    await Promise.all(members.map((member) => member.stop()));
    home.remove();
  }
}

/** npm runs scripts in the checkout, wherever it was called. */
function callersFolder(): string {
  const { INIT_CWD, npm_lifecycle_event } = process.env;
  return (npm_lifecycle_event === undefined ? undefined : INIT_CWD) ?? process.cwd();
}

async function startMembers(
  homes: string[],
  names: string[],
  shares: number[],
  signal: AbortSignal,
): Promise<ChildMember[]> {
  const starting = homes.map((home, index) => {
    const [name = '', memoryBytes = 0] = [names[index], shares[index]];
    return startChildMember({ home, name, memoryBytes, threads: demoThreads(homes.length), signal });
  });
  const settled = await Promise.allSettled(starting);
  const members = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed === undefined) return members;
  await Promise.all(members.map((member) => member.stop()));
  throw failed.reason;
}

/** One thread at least for every stage, and no more threads than cores: llama.cpp spins while it waits. */
function demoThreads(members: number): number {
  return Math.max(1, Math.floor(availableParallelism() / members));
}

interface Serving {
  model: string;
  placement: PlacedStage[];
  hops: number;
}

/** Shows the plan and the progress, and resolves when the model serves. */
async function comeUp(events: AsyncIterable<ServeEvent>, say: (line: string) => void): Promise<Serving> {
  let planned: Pick<Serving, 'placement' | 'hops'> = { placement: [], hops: 0 };
  for await (const event of events) {
    switch (event.type) {
      case 'planned':
        planned = event;
        say(`\n${placementTable(event.placement)}\n\n${event.explain.map((line) => `- ${line}`).join('\n')}\n`);
        break;
      case 'progress':
        if (event.phase === 'loaded') say(`${event.member} has loaded its layers`);
        break;
      case 'failed':
        throw new Error(event.message);
      case 'ready':
        return { model: event.model, ...planned };
    }
  }
  throw new Error('The member that was to serve the model is gone.');
}

function summary({ placement, hops }: Serving, { text, tokens, tokensPerSecond }: ChatAnswer, endpoint: string) {
  const stages = placement.map(({ member, startLayer, endLayer, bytes }) => ({ member, startLayer, endLayer, bytes }));
  return { placement: stages, hops, text, tokens, tokensPerSecond, endpoint };
}

function howToTry(endpoint: string, model: string, prompt: string): string {
  const body = JSON.stringify({ model, temperature: 0, messages: [{ role: 'user', content: prompt }] });
  return [
    `\nOpenAI-compatible endpoint: ${endpoint}`,
    '\nTry it:',
    `  curl ${endpoint}/chat/completions -H 'content-type: application/json' \\`,
    `    -d '${body.replaceAll("'", "'\\''")}'`,
  ].join('\n');
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Rejects when a member ends by itself. */
function lost({ process: child, name }: ChildMember): Promise<never> {
  return new Promise((_, reject) => {
    child.once('exit', () => reject(new Error(`Member ${name} is gone; start the demo again.`)));
  });
}
