import { parseArgs } from 'node:util';
import type { BenchOptions } from './benchOptions.ts';
import { decode } from './decode.ts';
import { draftBench } from './draft.ts';
import { fuzz } from './fuzz.ts';
import { gatewayBench } from './gateway.ts';
import { header } from './header.ts';
import { links } from './links.ts';
import { peer } from './peer.ts';
import { planBench } from './plan.ts';
import { poolBench } from './pool.ts';
import { prefill } from './prefill.ts';
import { type BenchReport, publish } from './report.ts';
import { sampling } from './sampling.ts';
import { soak } from './soak.ts';
import { transfer } from './transfer.ts';
import { windowBench } from './window.ts';

/** `npm run bench -- NAME [--json]`. */
const benches: Record<string, { about: string; run: (options: BenchOptions) => Promise<BenchReport> }> = {
  decode: { about: 'ms per token: the whole model, 2 and 3 stages, with round trips of 0 to 20 ms', run: decode },
  draft: {
    about: 'tokens/s by the number of drafts, with acceptance and cost, and the share of the head',
    run: draftBench,
  },
  fuzz: { about: 'GGUF headers changed at random, 5 minutes: what they come to', run: fuzz },
  gateway: { about: 'ms that the gateway adds to a step and to the first token', run: gatewayBench },
  header: { about: 'ms and MB to read the header of a file of 100,000 tensors', run: header },
  links: { about: 'what two links with TLS add to a step, by frame size', run: links },
  peer: {
    about: 'tokens/s beside llama.cpp over RPC, built from source once (cmake, a compiler, half an hour)',
    run: peer,
  },
  plan: { about: 'ms per plan: 8 members x 80 layers, 200 members x 128 layers', run: planBench },
  prefill: { about: 'tokens/s of a prompt of 1,024 tokens over two stages, in chunks and in one', run: prefill },
  pool: { about: 'ms until members that join, die, sleep, wake or are cut off are seen by the others', run: poolBench },
  window: { about: 'ms of script and layout in Chromium: first paint, a long chat, the playground', run: windowBench },
  sampling: { about: 'ms per token of a vocabulary of 128k, by what is asked of the sampler', run: sampling },
  soak: {
    about: '64 streams at once for 10 minutes: errors, memory, texts, and a client that reads nothing',
    run: soak,
  },
  transfer: { about: 'MB/s of a slice from a holder to a receiver, against a bare TLS socket', run: transfer },
};

const usage = `usage: npm run bench -- NAME [--json]
  where a bench has them: --only A,B  --rtt MS,MS  --concurrency N,N  --rounds N  --minutes N

${Object.entries(benches)
  .map(([each, { about }]) => `  ${each.padEnd(10)} ${about}`)
  .join('\n')}
`;

const { name, json, ...options } = read(process.argv.slice(2));
const bench = name === undefined ? undefined : benches[name];
if (bench === undefined) {
  process.stderr.write(usage);
  process.exitCode = process.argv.length === 2 ? 0 : 2;
} else {
  publish(name ?? '', await bench.run(options), { json });
}

function read(args: string[]): BenchOptions & { name?: string; json: boolean } {
  const text = { type: 'string' } as const;
  const options = {
    json: { type: 'boolean' },
    only: text,
    rtt: text,
    concurrency: text,
    rounds: text,
    minutes: text,
  } as const;
  try {
    const { positionals, values } = parseArgs({ args, options, allowPositionals: true });
    const [name] = positionals;
    return {
      json: values.json ?? false,
      ...(name !== undefined && { name }),
      ...(values.only !== undefined && { only: values.only.split(',') }),
      ...(values.rtt !== undefined && { rtt: numbers(values.rtt) }),
      ...(values.concurrency !== undefined && { concurrency: numbers(values.concurrency) }),
      ...(values.rounds !== undefined && { rounds: numbers(values.rounds)[0] ?? 1 }),
      ...(values.minutes !== undefined && { minutes: numbers(values.minutes)[0] ?? 1 }),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n`);
    return { json: false };
  }
}

function numbers(list: string): number[] {
  const all = list.split(',').map(Number);
  if (all.some((each) => !Number.isFinite(each) || each < 0)) throw new Error(`'${list}' is no list of numbers.`);
  return all;
}
