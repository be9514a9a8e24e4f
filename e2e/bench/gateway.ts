import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { createGateway } from '../../electron/gateway/createGateway.ts';
import type { GeneratedToken, GenerateRequest, ServedModel } from '../../electron/pipeline/servedModel.ts';
import { startBenchRoom } from './benchRoom.ts';
import type { BenchReport } from './report.ts';

const ROUNDS = 40;
const WARM_UP = 5;
const STREAMS = [1, 4];
/** From `dist`, where benches run. */
const demoModelPath = fileURLToPath(new URL('../../../resources/demo/demo.gguf', import.meta.url));
const question = 'What is a hop?';

/** When the pipeline of one request was asked, and when it gave each token; ms. */
interface PipelineTimes {
  asked: number;
  tokens: number[];
}

interface Added {
  firstToken: number;
  steps: number[];
}

/**
 * What the gateway adds to a real pipeline of two members: from the token in the gateway's hands to its event in a client's, and
 * from the request on its way to the pipeline being asked (parsing, template, tokenizer) for the first. Client and gateway
 * share this process, so the client's own work is counted in.
 */
export async function gatewayBench(): Promise<BenchReport> {
  const room = await startBenchRoom({ modelPath: demoModelPath, stages: 2, slots: 4, contextLength: 512 });
  /** By seed, which is another one for every request. */
  const times = new Map<number, PipelineTimes>();
  let seed = 0;
  const model = timed(room.model, times);
  const app = createGateway({
    models: { list: () => [model], find: () => model },
    localToken: '0'.repeat(64),
    build: 'bench',
    log: pino({ level: 'silent' }),
  });
  try {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const rows: BenchReport['rows'] = [];
    for (const streams of STREAMS) {
      const first: number[] = [];
      const steps: number[] = [];
      for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
        const seeds = Array.from({ length: streams }, () => ++seed);
        const all = await Promise.all(seeds.map((each) => answer(port, model.id, each, times)));
        if (round < WARM_UP) continue;
        first.push(...all.map(({ firstToken }) => firstToken));
        steps.push(...all.flatMap((each) => each.steps));
      }
      rows.push(
        row(`first token, streams at once: ${streams}`, first, 5),
        row(`step, streams at once: ${streams}`, steps, 1),
      );
    }
    return {
      title: `What the gateway adds, ms; ${ROUNDS} answers each`,
      columns: ['what', 'median', 'p95', 'may be', 'holds'],
      rows,
    };
  } finally {
    await app.close();
    await room.close();
  }
}

/** The same model, noting when it is asked and when it gives a token. */
function timed(model: ServedModel, times: Map<number, PipelineTimes>): ServedModel {
  async function* generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratedToken> {
    const noted: PipelineTimes = { asked: performance.now(), tokens: [] };
    times.set(request.sampling.seed, noted);
    for await (const token of model.generate(request, signal)) {
      noted.tokens.push(performance.now());
      yield token;
    }
  }
  return { ...model, generate };
}

/** One streamed answer of the demo model, whose tokens are whole characters: an event for each. */
async function answer(
  port: number,
  model: string,
  seed: number,
  times: ReadonlyMap<number, PipelineTimes>,
): Promise<Added> {
  const sent = performance.now();
  const headers = { 'content-type': 'application/json' };
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/v1/chat/completions', headers });
  const messages = [{ role: 'user', content: question }];
  request.end(JSON.stringify({ model, messages, temperature: 0, seed, stream: true }));
  const [response] = await once(request, 'response');
  const arrived: number[] = [];
  let rest = '';
  for await (const chunk of response) {
    const now = performance.now();
    const events = (rest + String(chunk)).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) if (/"delta":\{"content":"[^"]/.test(event)) arrived.push(now);
  }
  const own = times.get(seed);
  if (own === undefined || arrived.length === 0) throw new Error('The gateway gave no token.');
  const added = arrived.map((at, token) => at - (own.tokens[token] ?? at));
  const [firstArrived = 0] = added;
  return { firstToken: own.asked - sent + firstArrived, steps: added.slice(1) };
}

function row(what: string, values: number[], most: number): Record<string, string | number> {
  const sorted = values.sort((a, b) => a - b);
  const at = (share: number): number => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 1000) / 1000;
  return { what, median: at(0.5), p95: at(0.95), 'may be': `at most ${most}`, holds: at(0.5) <= most ? 'yes' : 'NO' };
}
