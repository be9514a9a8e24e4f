import { create } from 'zustand';
import type { ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { useMember } from '../member/memberStore.ts';
import { type News, pipelineNews, poolNews } from './news.ts';

const MOST_NEWS = 100;
const MOST_SAMPLES = 120;

/** What a pipeline did at one time. */
export interface Sample {
  at: number;
  tokensPerSecond: number;
  /** Requests that wait. */
  queue: number;
  /** Of drafts, 0 to 1; null where none was made. */
  acceptance: number | null;
}

interface ServingStore {
  /** Newest first, since the window was opened. */
  news: readonly News[];
  /** Of each pipeline, oldest first. */
  samples: Readonly<Record<string, readonly Sample[]>>;
}

export const useServing = create<ServingStore>()(() => ({ news: [], samples: {} }));

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
    if (after.member !== before.member) {
      const pipelines = after.member?.pipelines ?? [];
      useServing.setState(({ samples }) => ({
        samples: withSamples(samples, before.member?.pipelines ?? [], pipelines, at),
      }));
    }
  });
}

/** One more sample of each pipeline whose figures are new; those of pipelines that are gone are dropped. */
export function withSamples(
  samples: ServingStore['samples'],
  before: readonly ServingPipeline[],
  now: readonly ServingPipeline[],
  at: number,
): ServingStore['samples'] {
  const known = new Map(before.map(({ id, figures }) => [id, figures]));
  return Object.fromEntries(
    now.map(({ id, figures }) => {
      const old = samples[id] ?? [];
      if (figures === null || figures === known.get(id)) return [id, old];
      const { tokensPerSecond, queue, acceptance } = figures;
      return [id, [...old, { at, tokensPerSecond, queue, acceptance }].slice(-MOST_SAMPLES)];
    }),
  );
}
