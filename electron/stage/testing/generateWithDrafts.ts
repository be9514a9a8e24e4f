import type { NativeRun, NativeSampledToken, NativeSampling } from '../nativeAddon.ts';
import type { StageChain } from './stageChain.ts';

export interface DraftOptions {
  count: number;
  slot?: number;
  sampling: NativeSampling;
  /** Most prompt tokens per step. */
  chunk?: number;
  /** Guesses for the tokens from the `index`th of the answer on; as many as it likes. */
  propose(index: number): number[];
  /** Sends a second run of drafts before the first is answered, as a coordinator does with several steps in flight. */
  ahead?: boolean;
  rowByRow?: boolean;
}

export interface DraftedAnswer {
  tokens: number[];
  accepted: number;
  /** Runs that were left out because drafts before them had been rejected. */
  dropped: number;
}

/** Decodes as a coordinator that drafts: every step carries the last committed token and guesses of what follows. */
export async function generateWithDrafts(
  chain: StageChain,
  prompt: Int32Array,
  { count, slot = 0, sampling, chunk = 128, propose, ahead = false, rowByRow = false }: DraftOptions,
): Promise<DraftedAnswer> {
  const answer: DraftedAnswer = { tokens: [], accepted: 0, dropped: 0 };
  const send = async (
    run: Pick<NativeRun, 'start' | 'truncateTo' | 'sampling'> & { tokens: number[]; drafts: number },
  ) => {
    const { sampled, dropped, failures } = await chain.step(
      [
        {
          slot,
          aloneRows: rowByRow && run.drafts > 0 ? run.tokens.length : 0,
          ...run,
          tokens: Int32Array.from(run.tokens),
        },
      ],
      'f32',
    );
    if (failures[0] !== undefined) throw new Error(failures[0].message);
    answer.dropped += dropped;
    return sampled;
  };
  const commit = (sampled: NativeSampledToken[]): void => {
    for (const { position, token } of sampled) {
      if (position !== prompt.length + answer.tokens.length) throw new Error(`a token for position ${position}`);
      answer.tokens.push(token);
    }
    answer.accepted += Math.max(0, sampled.length - 1);
  };

  for (let start = 0; start < prompt.length; start += chunk) {
    const tokens = [...prompt.subarray(start, start + chunk)];
    const isLast = start + tokens.length === prompt.length;
    commit(await send({ start, tokens, truncateTo: start, sampling: isLast ? sampling : null, drafts: 0 }));
  }
  while (answer.tokens.length < count) {
    const index = answer.tokens.length;
    const start = prompt.length + index - 1;
    const drafts = propose(index);
    const first = { start, tokens: [answer.tokens.at(-1) ?? -1, ...drafts], drafts: drafts.length };
    const verified = send({ ...first, truncateTo: start, sampling });
    const next = ahead ? propose(index + drafts.length) : [];
    const following =
      next.length === 0
        ? []
        : await send({
            start: start + drafts.length + 1,
            tokens: next,
            drafts: next.length,
            truncateTo: null,
            sampling,
          });
    commit(await verified);
    commit(following);
  }
  answer.tokens.length = count;
  return answer;
}
