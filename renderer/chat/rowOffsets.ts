/** Where each row begins, and at last where all end: from the heights that are known and an estimate for the others. */
export function rowOffsets(
  ids: readonly string[],
  heights: ReadonlyMap<string, number>,
  estimate: number,
): Float64Array {
  const offsets = new Float64Array(ids.length + 1);
  let at = 0;
  ids.forEach((id, index) => {
    offsets[index] = at;
    at += heights.get(id) ?? estimate;
  });
  offsets[ids.length] = at;
  return offsets;
}

/** The rows [first, end) that touch the pixels from `top` to `bottom`. */
export function rowsBetween(offsets: Float64Array, top: number, bottom: number): { first: number; end: number } {
  const count = offsets.length - 1;
  const first = Math.max(0, firstAfter(offsets, top) - 1);
  return { first: Math.min(first, count), end: Math.min(count, firstAfter(offsets, bottom)) };
}

/** Index of the first offset beyond a pixel. */
function firstAfter(offsets: Float64Array, pixel: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) > pixel) high = middle;
    else low = middle + 1;
  }
  return low;
}
