import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import type { GeneratedToken, TokenSampling } from '../../electron/pipeline/serving/servedModel.ts';
import type { NativeStage } from '../../electron/stage/nativeAddon.ts';
import { nativeSampling } from '../../electron/stage/nativeSampling.ts';

export interface PlainOptions {
  sampling: TokenSampling;
  /** Most tokens, an end token included. */
  most: number;
  /** Most prompt tokens in one step. */
  chunk: number;
  endTokens: ReadonlySet<number>;
}

/** What a whole model in this process answers in its first slot: one request, chunk by chunk and then token by token, and nothing kept. */
export async function plainAnswer(
  stage: NativeStage,
  prompt: readonly number[],
  { sampling, most, chunk, endTokens }: PlainOptions,
): Promise<GeneratedToken[]> {
  const native = nativeSampling(wireSampling(sampling, prompt.length));
  const answer: GeneratedToken[] = [];
  await stage.closeSlot(0);
  for (let start = 0; ; ) {
    const log = [...prompt, ...answer.map(({ id }) => id)];
    const tokens = Int32Array.from(log.slice(start, start + chunk));
    const isLast = start + tokens.length === log.length;
    const run = { slot: 0, start, tokens, truncateTo: null, sampling: isLast ? native : null };
    const { sampled, failures } = await stage.decode({ runs: [run], input: null, output: null, outputFormat: 'f32' });
    start += tokens.length;
    if (failures[0] !== undefined) throw new Error(failures[0].message);
    const [next] = sampled;
    if (!isLast || next === undefined) continue;
    const top = next.top.map(({ token, logprob }) => ({ id: token, logprob }));
    answer.push({ id: next.token, logprob: next.logprob, top });
    if (answer.length === most || endTokens.has(next.token)) return answer;
  }
}
