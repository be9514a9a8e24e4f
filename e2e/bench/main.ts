import { decode } from './decode.ts';
import { fuzz } from './fuzz.ts';
import { header } from './header.ts';
import { links } from './links.ts';
import { planBench } from './plan.ts';
import { type BenchReport, publish } from './report.ts';
import { sampling } from './sampling.ts';
import { transfer } from './transfer.ts';
import { windowBench } from './window.ts';

/** `npm run bench -- NAME [--json]`. */
const benches: Record<string, { about: string; run: () => Promise<BenchReport> }> = {
  decode: { about: 'ms per token: the whole model, 2 and 3 stages, with round trips of 0 to 20 ms', run: decode },
  fuzz: { about: 'GGUF headers changed at random, 5 minutes: what they come to', run: fuzz },
  header: { about: 'ms and MB to read the header of a file of 100,000 tensors', run: header },
  links: { about: 'what two links with TLS add to a step, by frame size', run: links },
  plan: { about: 'ms per plan: 8 members x 80 layers, 200 members x 128 layers', run: planBench },
  window: { about: 'ms of script and layout in Chromium: first paint, a long chat, the playground', run: windowBench },
  sampling: { about: 'ms per token of a vocabulary of 128k, by what is asked of the sampler', run: sampling },
  transfer: { about: 'MB/s of a slice from a holder to a receiver, against a bare TLS socket', run: transfer },
};

const [name, ...flags] = process.argv.slice(2);
const bench = name === undefined ? undefined : benches[name];
if (bench === undefined || flags.some((flag) => flag !== '--json')) {
  const list = Object.entries(benches).map(([each, { about }]) => `  ${each.padEnd(10)} ${about}`);
  process.stderr.write(`usage: npm run bench -- NAME [--json]\n\n${list.join('\n')}\n`);
  process.exitCode = name === undefined ? 0 : 2;
} else {
  publish(name ?? '', await bench.run(), { json: flags.includes('--json') });
}
