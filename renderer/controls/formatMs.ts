/** Milliseconds for people: `0.32 ms`, `8.4 ms`, `120 ms`, `2.4 s`. */
export function formatMs(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(ms >= 10_000 ? 0 : 1)} s`;
  if (ms >= 100) return `${ms.toFixed(0)} ms`;
  return `${ms.toFixed(ms >= 1 ? 1 : 2)} ms`;
}

/** Tokens per second for people: `112`, `31.5`, `0.84`. */
export function formatRate(tokensPerSecond: number): string {
  if (tokensPerSecond >= 100) return tokensPerSecond.toFixed(0);
  return tokensPerSecond.toFixed(tokensPerSecond >= 1 ? 1 : 2);
}
