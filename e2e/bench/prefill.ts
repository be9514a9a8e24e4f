import { median } from '../../electron/pipeline/numbers/median.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import type { BenchOptions } from './benchOptions.ts';
import { startBenchRoom } from './benchRoom.ts';
import { billionModel } from './billionModel.ts';
import type { BenchReport } from './report.ts';

const TOKENS = 1024;
const ROUNDS = 3;

/** A prompt of 1,024 tokens over two stages of one thread: in the chunks in which Roomful sends it, and in one. */
export async function prefill({ rounds = ROUNDS }: BenchOptions): Promise<BenchReport> {
  const modelPath = await billionModel();
  const sizes = {
    modelPath,
    stages: 2,
    slots: 1,
    contextLength: TOKENS + 16,
    pinned: true,
    request: { mostDrafts: 0 },
  };
  process.stderr.write('forming two pipelines of two stages ...\n');
  const chunked = await startBenchRoom(sizes);
  const closers = [() => chunked.close()];
  try {
    const whole = await startBenchRoom({ ...sizes, request: { ...sizes.request, chunk: TOKENS } });
    closers.push(() => whole.close());
    const times = new Map<string, number[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, { model }] of [
        ['chunks', chunked],
        ['one', whole],
      ] as const) {
        process.stderr.write(`round ${round + 1} of ${rounds}: ${name}    \r`);
        // Another prompt each time, or it would be there already.
        const promptTokens = Array.from({ length: TOKENS }, (_, index) => 1000 + ((index * 7 + round * 131) % 50_000));
        const began = performance.now();
        const request = { promptTokens, maxTokens: 1, sampling: greedySampling };
        for await (const _ of model.generate(request, new AbortController().signal));
        times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
      }
    }
    process.stderr.write('\n');
    const rate = (name: string): number => (TOKENS * 1000) / median(times.get(name) ?? []);
    const rows = ['chunks', 'one'].map((name) => {
      return {
        prompt: name,
        'tokens/s': Math.round(rate(name) * 10) / 10,
        times: Math.round((rate(name) / rate('one')) * 100) / 100,
      };
    });
    return {
      title: `prefill: ${TOKENS} tokens, two stages of one thread, median of ${rounds}`,
      columns: ['prompt', 'tokens/s', 'times'],
      rows,
    };
  } finally {
    for (const close of closers.reverse()) await close();
  }
}
