/** How many tokens two sequences begin with alike. */
export function commonLength(a: readonly number[], b: readonly number[]): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i += 1) if (a[i] !== b[i]) return i;
  return most;
}
