import { create } from 'zustand';
import { useMember } from '../member/memberStore.ts';
import { type News, pipelineNews, poolNews } from './news.ts';

const MOST_NEWS = 100;
const MOST_RATES = 120;

/** Tokens per second of one answer, when it ended. */
export interface Rate {
  at: number;
  tokensPerSecond: number;
}

interface ServingStore {
  /** Newest first, since the window was opened. */
  news: readonly News[];
  /** Of each pipeline, oldest first. */
  rates: Readonly<Record<string, readonly Rate[]>>;
}

export const useServing = create<ServingStore>()(() => ({ news: [], rates: {} }));

/** Notes what happens to the pool and its pipelines while the window is open. Called once. */
export function followServing(now: () => number = Date.now): void {
  useMember.subscribe((after, before) => {
    const lines = [
      ...(after.pool !== null && before.pool !== null && after.pool !== before.pool
        ? poolNews(before.pool, after.pool)
        : []),
      ...(after.member !== null && before.member !== null && after.member !== before.member
        ? pipelineNews(before.member, after.member)
        : []),
    ];
    const at = now();
    if (lines.length > 0) {
      const told = lines.map((line) => ({ ...line, at })).reverse();
      useServing.setState(({ news }) => ({ news: [...told, ...news].slice(0, MOST_NEWS) }));
    }
    if (after.member !== before.member) noteRates(at);
  });
}

function noteRates(at: number): void {
  for (const { id, lastTokensPerSecond } of useMember.getState().member?.pipelines ?? []) {
    const rates = useServing.getState().rates[id] ?? [];
    if (lastTokensPerSecond === null || rates.at(-1)?.tokensPerSecond === lastTokensPerSecond) continue;
    const next = [...rates, { at, tokensPerSecond: lastTokensPerSecond }].slice(-MOST_RATES);
    useServing.setState((store) => ({ rates: { ...store.rates, [id]: next } }));
  }
}
