import { median } from '../../electron/pipeline/numbers/median.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import { type BenchOptions, isWanted } from './benchOptions.ts';
import { startBenchRoom } from './benchRoom.ts';
import { billionModel } from './billionModel.ts';
import { DelayRelay } from './delayRelay.ts';
import { llamaPeer } from './llamaPeer.ts';
import type { BenchReport } from './report.ts';
import { rpcTokenTimes, startRpcPeer } from './rpcPeer.ts';

const SLOTS = 8;
/** Of one request. */
const CONTEXT = 256;
const PROMPT_TOKENS = 16;
const TOKENS = 24;
/** Left out of every answer: they come with the prompts of the others. */
const WARM_UP = 4;
const ROUNDS = 3;
const CONCURRENCY = [1, 4, 8];

interface Network {
  name: string;
  roundTripMs: number;
  bytesPerSecond: number;
}

const plain = (roundTripMs: number): Network => {
  return { name: `${roundTripMs} ms`, roundTripMs, bytesPerSecond: Number.POSITIVE_INFINITY };
};
const slow: Network = { name: '1 ms, 200 Mbit/s', roundTripMs: 1, bytesPerSecond: 200e6 / 8 };

/** When each token of each of so many answers came, ms. */
type Ask = (sequences: number) => Promise<number[][]>;

/**
 * Roomful beside llama.cpp over RPC: the same file, cut alike, two processes of one thread on a core each, a third one that
 * asks; no guessing ahead; through the same relay, but for 0 ms, where neither has one. They take turns.
 */
export async function peer(options: BenchOptions): Promise<BenchReport> {
  const { rounds = ROUNDS, concurrency = CONCURRENCY, only } = options;
  const programs = await llamaPeer();
  const modelPath = await billionModel();
  const roundTrips = options.rtt ?? (only?.includes('slow') ? [] : [0, 1, 5, 20]);
  const networks = [...roundTrips.map(plain), ...(wantsSlow(options) ? [slow] : [])];
  const intervals = new Map<string, number[][]>();
  for (const relayed of [false, true]) {
    const ours = networks.filter(({ roundTripMs }) => roundTripMs > 0 === relayed);
    if (ours.length === 0) continue;
    const relay = new DelayRelay();
    const route = relayed ? relay.route : async (address: string) => address;
    const closers: (() => Promise<void>)[] = [() => relay.close()];
    try {
      process.stderr.write(`starting both${relayed ? ' with a relay' : ''} ...\n`);
      const sizes = { modelPath, slots: SLOTS };
      const room = await startBenchRoom({
        ...{ ...sizes, stages: 2, contextLength: CONTEXT, route, pinned: true },
        request: { mostDrafts: 0 },
      });
      closers.push(() => room.close());
      const split = room.model.placement.map(({ startLayer, endLayer }) => endLayer - startLayer);
      split.push((split.pop() ?? 0) + 1);
      const rpc = await startRpcPeer({ ...sizes, peer: programs, split, contextLength: CONTEXT * SLOTS, route });
      closers.push(() => rpc.close());
      const subjects: [string, Ask][] = [
        ['rpc', (sequences) => all(sequences, (prompt) => rpcTokenTimes(rpc.url, prompt, TOKENS))],
        ['roomful', (sequences) => all(sequences, (prompt) => tokenTimes(room.model, prompt))],
      ];
      for (const { name, roundTripMs, bytesPerSecond } of ours) {
        relay.oneWayMs = roundTripMs / 2;
        relay.bytesPerSecond = bytesPerSecond;
        for (let index = 0; index < rounds; index += 1) {
          for (const sequences of concurrency) {
            for (const [subject, ask] of subjects) {
              if (!isWanted(subject, subjectsOf(only))) continue;
              const key = `${subject}, ${name}, ${sequences}`;
              const times = (await ask(sequences)).flatMap((answer) => steps(answer));
              intervals.set(key, [...(intervals.get(key) ?? []), times]);
              const rate = round((1000 * sequences) / median(times));
              process.stderr.write(
                `round ${index + 1} of ${rounds}: ${name}, ${subject}, ${sequences} at once: ${rate}\n`,
              );
            }
          }
        }
      }
    } finally {
      for (const close of closers.reverse()) await close();
    }
  }
  return report(networks, concurrency, rounds, intervals);
}

function subjectsOf(only: string[] | undefined): string[] | undefined {
  const named = only?.filter((each) => each !== 'slow');
  return named?.length === 0 ? undefined : named;
}

function wantsSlow({ rtt, only }: BenchOptions): boolean {
  return only?.includes('slow') ?? rtt === undefined;
}

function report(
  networks: readonly Network[],
  concurrency: readonly number[],
  rounds: number,
  intervals: ReadonlyMap<string, number[][]>,
): BenchReport {
  const rows = networks.flatMap(({ name }) =>
    concurrency.map((sequences) => {
      const runs = (subject: string): number[][] => intervals.get(`${subject}, ${name}, ${sequences}`) ?? [];
      const rate = (subject: string): number => (1000 * sequences) / median(runs(subject).map(median));
      const mean = (subject: string): number => {
        const times = runs(subject).flat();
        return (1000 * sequences * times.length) / times.reduce((sum, ms) => sum + ms, 0);
      };
      const [rpc, roomful] = [rate('rpc'), rate('roomful')];
      return {
        network: name,
        requests: sequences,
        rpc: round(rpc),
        roomful: round(roomful),
        times: round(roomful / rpc),
        'rpc mean': round(mean('rpc')),
        'roomful mean': round(mean('roomful')),
        'times mean': round(mean('roomful') / mean('rpc')),
      };
    }),
  );
  return {
    title: `peer: tokens/s of 1.24 B llama, Q4_0, two stages of one thread; from the median step, middle of ${rounds} runs`,
    columns: ['network', 'requests', 'rpc', 'roomful', 'times', 'rpc mean', 'roomful mean', 'times mean'],
    rows,
  };
}

/** Between tokens, those left out that came while others still read their prompts. */
function steps(times: readonly number[]): number[] {
  return times.slice(1).flatMap((time, index) => (index + 1 < WARM_UP ? [] : [time - (times[index] ?? time)]));
}

function all(sequences: number, ask: (prompt: number[]) => Promise<number[]>): Promise<number[][]> {
  return Promise.all(
    Array.from({ length: sequences }, (_, sequence) =>
      ask(Array.from({ length: PROMPT_TOKENS }, (_token, index) => 1000 + sequence * 100 + index)),
    ),
  );
}

async function tokenTimes(model: ServingModel, promptTokens: number[]): Promise<number[]> {
  const times: number[] = [];
  const request = { promptTokens, maxTokens: TOKENS, sampling: greedySampling };
  for await (const _ of model.generate(request, new AbortController().signal)) times.push(performance.now());
  return times;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
