import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import pino from 'pino';
import { createGateway } from '../../electron/gateway/createGateway.ts';
import { median } from '../../electron/pipeline/numbers/median.ts';
import type { GeneratedToken, GenerateRequest, ServedModel } from '../../electron/pipeline/serving/servedModel.ts';
import { startBenchRoom } from './benchRoom.ts';
import type { StreamOrder, StreamTimes } from './gatewayClient.ts';
import type { BenchReport } from './report.ts';

const ROUNDS = 60;
const WARM_UP = 10;
const STREAMS = [1, 4];
const MOST_FIRST_MS = 5;
const MOST_STEP_MS = 1;
const PATH = '/v1/chat/completions';
/** From `dist`, where benches run. */
const demoModelPath = fileURLToPath(new URL('../../../resources/demo/demo.gguf', import.meta.url));
const question = 'What is a hop?';

/** One answer, ms: to its first token, and from one token to the next. */
interface Answer {
  first: number;
  step: number;
}

/**
 * What the gateway adds to a real pipeline of two members: each round asks the pipeline itself and then, by a client in another
 * thread, the gateway for the same answers; what is added is the difference of the medians. Of several at once it holds a step that
 * a request has just missed. `own` is what the gateway alone takes: a token's way from its hands to the client's, and for the first
 * one also the time until the pipeline is asked (parsing, template, tokenizer).
 */
export async function gatewayBench(): Promise<BenchReport> {
  const room = await startBenchRoom({ modelPath: demoModelPath, stages: 2, slots: 4, contextLength: 512 });
  const watched = new WatchedModel(room.model);
  const app = createGateway({
    models: { list: () => [watched.model], find: () => watched.model },
    localToken: '0'.repeat(64),
    build: 'bench',
    log: pino({ level: 'silent' }),
  });
  const client = new Worker(new URL('./gatewayClient.js', import.meta.url));
  try {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const rows: BenchReport['rows'] = [];
    for (const streams of STREAMS) {
      const alone: Answer[] = [];
      const through: Answer[] = [];
      const way: number[] = [];
      const firstWay: number[] = [];
      for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
        const seeds = Array.from({ length: streams }, (_, index) => 1 + (streams * 1000 + round) * 10 + index);
        const asked = await Promise.all(seeds.map((seed) => ask(client, { id: seed, port }, room.model.id)));
        const own = await Promise.all(seeds.map((seed) => watched.again(seed)));
        if (round < WARM_UP) continue;
        alone.push(...own);
        through.push(...asked.map(answerOf));
        const ways = asked.map(({ id, arrived }) => arrived.map((at, token) => at - watched.tokenAt(id, token)));
        way.push(...ways.flatMap(([, ...later]) => later));
        firstWay.push(...asked.map(({ id, sent }, index) => watched.askedAt(id) - sent + (ways[index]?.[0] ?? 0)));
      }
      const times = { alone, through };
      rows.push({
        ...row(`first token, streams: ${streams}`, times, ({ first }) => first, MOST_FIRST_MS),
        own: ms(median(firstWay)),
      });
      rows.push({ ...row(`step, streams: ${streams}`, times, ({ step }) => step, MOST_STEP_MS), own: ms(median(way)) });
    }
    return {
      title: `What the gateway adds, ms, medians; ${ROUNDS} rounds`,
      columns: ['what', 'pipeline', 'gateway', 'added', 'may be', 'holds', 'own'],
      rows,
    };
  } finally {
    await client.terminate();
    await app.close();
    await room.close();
  }
}

/** A model that notes what it is asked and when it gives a token, by seed. */
class WatchedModel {
  readonly model: ServedModel;
  readonly #pipeline: ServedModel;
  readonly #seen = new Map<number, { request: GenerateRequest; asked: number; tokens: number[] }>();

  constructor(pipeline: ServedModel) {
    this.#pipeline = pipeline;
    this.model = { ...pipeline, generate: (request, signal) => this.#generate(request, signal) };
  }

  /** When the gateway asked for the answer with this seed, ms since 1970. */
  askedAt(seed: number): number {
    const asked = this.#seen.get(seed)?.asked;
    if (asked === undefined) throw new Error('The gateway has not asked.');
    return asked;
  }

  /** When a token of the answer with this seed was in the gateway's hands, ms since 1970. */
  tokenAt(seed: number, token: number): number {
    const at = this.#seen.get(seed)?.tokens[token];
    if (at === undefined) throw new Error('The gateway gave a token that the pipeline did not.');
    return at;
  }

  /** Asks the pipeline itself for what the gateway asked it for. */
  async again(seed: number): Promise<Answer> {
    const request = this.#seen.get(seed)?.request;
    if (request === undefined) throw new Error('The gateway has not asked.');
    const sent = now();
    const arrived: number[] = [];
    for await (const token of this.#pipeline.generate(request, new AbortController().signal)) {
      if (this.#pipeline.endTokens.has(token.id)) break;
      arrived.push(now());
    }
    return answerOf({ sent, arrived });
  }

  async *#generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratedToken> {
    const tokens: number[] = [];
    const seen = { request: { ...request, onSeated: () => {} }, asked: now(), tokens };
    this.#seen.set(request.sampling.seed, seen);
    for await (const token of this.#pipeline.generate(request, signal)) {
      tokens.push(now());
      yield token;
    }
  }
}

/** One streamed answer of the demo model, whose tokens are whole characters: an event for each. */
async function ask(client: Worker, { id, port }: { id: number; port: number }, model: string): Promise<StreamTimes> {
  const messages = [{ role: 'user', content: question }];
  const body = JSON.stringify({ model, messages, temperature: 0, seed: id, stream: true });
  client.postMessage({ id, port, path: PATH, body } satisfies StreamOrder);
  for (;;) {
    const [times]: StreamTimes[] = await once(client, 'message');
    if (times?.id === id) return times;
  }
}

function answerOf({ sent, arrived }: Pick<StreamTimes, 'sent' | 'arrived'>): Answer {
  const [first] = arrived;
  const last = arrived.at(-1);
  if (first === undefined || last === undefined || arrived.length < 2) throw new Error('There were too few tokens.');
  return { first: first - sent, step: (last - first) / (arrived.length - 1) };
}

function row(
  what: string,
  { alone, through }: { alone: readonly Answer[]; through: readonly Answer[] },
  pick: (answer: Answer) => number,
  most: number,
): BenchReport['rows'][number] {
  const [pipeline, gateway] = [median(alone.map(pick)), median(through.map(pick))];
  const added = gateway - pipeline;
  return {
    what,
    pipeline: ms(pipeline),
    gateway: ms(gateway),
    added: ms(added),
    'may be': `at most ${most}`,
    holds: added <= most ? 'yes' : 'NO',
  };
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

function ms(value: number): number {
  return Math.round(value * 1000) / 1000;
}
