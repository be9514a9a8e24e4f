/** Items of `next`, but those of `before` where they are the same, so that nothing is drawn again without need. */
export function reuse<T extends { id: string }>(before: readonly T[], next: T[], same: (a: T, b: T) => boolean): T[] {
  const known = new Map(before.map((item) => [item.id, item]));
  const merged = next.map((item) => {
    const old = known.get(item.id);
    return old !== undefined && same(old, item) ? old : item;
  });
  return merged.length === before.length && merged.every((item, index) => item === before[index])
    ? (before as T[])
    : merged;
}
