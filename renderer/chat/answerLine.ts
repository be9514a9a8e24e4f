import type { Turn } from './chatStore.ts';

/** The line under an answer: `24 tokens · 31.5 tokens per second`; null while there is nothing to say. */
export function answerLine({ state, tokens, milliseconds }: Turn): string | null {
  if (state === 'stopped') return 'Stopped';
  if (state !== 'done' || tokens === null) return null;
  const count = tokens === 1 ? '1 token' : `${tokens} tokens`;
  // The first token ends the reading of the prompt, so only the others tell the pace.
  if (milliseconds === null || milliseconds <= 0 || tokens < 2) return count;
  return `${count} · ${((1000 * (tokens - 1)) / milliseconds).toFixed(1)} tokens per second`;
}
