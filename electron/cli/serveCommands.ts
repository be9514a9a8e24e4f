import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { ServeParams } from '../gateway/memberApi.ts';
import type { ServeEvent } from '../pipeline/serving/serveEvents.ts';
import type { PlacedStage } from '../planner/placedStage.ts';
import { type Force, forces, type KvType, kvTypes } from '../planner/planOptions.ts';
import { askMember, callMember } from './callMember.ts';
import { wholeNumber } from './demoOptions.ts';
import { homeOf, homeOption } from './homeOption.ts';
import { placementTable } from './placementTable.ts';
import { serveBody, serveEvents } from './serveModel.ts';

interface ServeFlags {
  home?: string;
  json?: boolean;
  force?: Force;
  members?: string[];
  context?: number;
  slots?: number;
  replicas?: number;
  kv?: KvType;
  exact?: boolean;
  alias?: string[];
  draft?: string;
  mostDrafts?: number;
}

interface StopFlags {
  home?: string;
  json?: boolean;
  drain: number;
}

/** `roomful serve` and `roomful stop`: each asks the member that runs with the same data folder. */
export function serveCommands(): Command[] {
  return [
    new Command('serve')
      .description('serve a model of the pool; Ctrl-C before it serves takes everything back')
      .argument('<model>', 'its name or id as `roomful models` lists it, or a GGUF, which is imported first')
      .addOption(homeOption())
      .addOption(new Option('--force <how>', 'one member only, or at least two').choices(forces))
      .option('--members <list>', 'only these, in this order: names, ids or addresses, with commas', parseMembers)
      .option('--context <tokens>', 'context of one request', wholeNumber(16, 1_048_576))
      .option('--slots <n>', 'requests at once', wholeNumber(1, 64))
      .option('--replicas <n>', 'pipelines, each of members of its own', wholeNumber(1, 64))
      .addOption(new Option('--kv <type>', 'type of the KV cache').choices(kvTypes))
      .option('--draft <model>', 'a small model of the same vocabulary that guesses ahead, by name, id or file')
      .option('--most-drafts <n>', 'tokens that are guessed ahead at most; 0 turns it off', wholeNumber(0, 8))
      .option('--exact', '32-bit activations between the members')
      .option('--alias <name>', 'what else clients may call it; may be given again', collect)
      .option('--json', 'one JSON object on stdout, progress on stderr')
      .action(serve),
    new Command('stop')
      .description('stop a model, or take back one that comes up, on all members')
      .argument('<model>', 'its id or alias')
      .addOption(homeOption())
      .option('--drain <seconds>', 'how long requests that run may take to end', wholeNumber(0, 3600), 30)
      .option('--json', 'one JSON object on stdout')
      .action(stop),
  ];
}

async function serve(called: string, flags: ServeFlags): Promise<void> {
  const home = homeOf(flags);
  const leave = new AbortController();
  const interrupt = (): void => leave.abort(new Error('Interrupted; the model is not served.'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  const request = { ...serveBody(paramsOf(called, flags)), signal: leave.signal };
  try {
    const response = await askMember(home, '/api/serve', request);
    const served = await follow(serveEvents(response), flags.json ?? false);
    const { endpoint } = await callMember(home, 'state', {});
    const line = `${served.model} serves ${served.contextLength} tokens for each request at ${endpoint}`;
    process.stdout.write(`${flags.json ? JSON.stringify({ ...served, endpoint }) : line}\n`);
  } catch (cause) {
    throw leave.signal.aborted ? leave.signal.reason : cause;
  }
}

async function stop(model: string, { drain, json, ...flags }: StopFlags): Promise<void> {
  const stopped = await callMember(homeOf(flags), 'stop', { model, drainMs: drain * 1000 });
  process.stdout.write(`${json ? JSON.stringify(stopped) : `${model} is stopped.`}\n`);
}

interface Served {
  model: string;
  contextLength: number;
  pipelines: { placement: PlacedStage[]; hops: number }[];
}

/** Says what happens until the model serves. */
async function follow(events: AsyncIterable<ServeEvent>, json: boolean): Promise<Served> {
  const out = json ? process.stderr : process.stdout;
  const pipelines: Served['pipelines'] = [];
  const progress = new ProgressLine(out);
  const say = (line: string): void => {
    progress.clear();
    out.write(`${line}\n`);
  };
  for await (const event of events) {
    switch (event.type) {
      case 'planned':
        pipelines.push({ placement: event.placement, hops: event.hops });
        say(`\n${placementTable(event.placement)}\n`);
        if (event.explain.length > 0) say(`${event.explain.map((line) => `- ${line}`).join('\n')}\n`);
        break;
      case 'progress':
        if (event.phase === 'loaded') say(`${event.member} has loaded its layers`);
        else progress.show(`${event.member} is ${event.phase}`, event.fraction);
        break;
      case 'state':
        if (event.state === 'linking' || event.state === 'warming') say(event.state);
        break;
      case 'note':
        say(event.message);
        break;
      case 'failed':
        progress.clear();
        throw new Error(event.message);
      case 'ready':
        progress.clear();
        return { model: event.model, contextLength: event.contextLength, pipelines };
    }
  }
  throw new Error('The member that was to serve the model is gone.');
}

const BAR_CELLS = 24;

/** One line that is written over on a terminal, and left out elsewhere. */
class ProgressLine {
  readonly #out: NodeJS.WriteStream;
  #shown = false;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  show(what: string, fraction: number): void {
    if (!this.#out.isTTY) return;
    const cells = Math.round(fraction * BAR_CELLS);
    const bar = '#'.repeat(cells).padEnd(BAR_CELLS, '.');
    this.#out.write(`\r\u001b[K${what} [${bar}] ${Math.round(fraction * 100)} %`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.#out.write('\r\u001b[K');
    this.#shown = false;
  }
}

function paramsOf(called: string, flags: ServeFlags): ServeParams {
  const { force, members, context, slots, replicas, kv, exact, alias, draft, mostDrafts } = flags;
  return {
    ...(isFileName(called) ? { modelPath: resolve(called) } : { model: called }),
    ...(force && { force }),
    ...(members && { members }),
    ...(context && { contextLength: context }),
    ...(slots && { slots }),
    ...(replicas && { replicas }),
    ...(kv && { kvType: kv }),
    ...(exact && { exact }),
    ...(draft && (isFileName(draft) ? { draftPath: resolve(draft) } : { draft })),
    ...(mostDrafts !== undefined && { mostDrafts }),
    ...(alias && { aliases: alias }),
  };
}

function isFileName(called: string): boolean {
  return existsSync(called) || /[/\\]|\.gguf$/i.test(called);
}

function parseMembers(text: string): string[] {
  const members = text.split(',').map((member) => member.trim());
  if (members.every((member) => member !== '')) return members;
  throw new InvalidArgumentError('Give names, ids or addresses with commas between them.');
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
