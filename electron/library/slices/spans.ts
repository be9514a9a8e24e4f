/** Bytes [from, to) of something. */
export interface Span {
  from: number;
  to: number;
}

/** The spans with one more, in order, none touching another. */
export function addSpan(spans: readonly Span[], { from, to }: Span): Span[] {
  if (from >= to) return [...spans];
  const before = spans.filter((span) => span.to < from);
  const after = spans.filter((span) => span.from > to);
  const touching = spans.filter((span) => span.to >= from && span.from <= to);
  return [
    ...before,
    {
      from: Math.min(from, ...touching.map((span) => span.from)),
      to: Math.max(to, ...touching.map((span) => span.to)),
    },
    ...after,
  ];
}

/** What of [0, bytes) is in none of the spans, which are in order. */
export function missingSpans(spans: readonly Span[], bytes: number): Span[] {
  const missing: Span[] = [];
  let at = 0;
  for (const { from, to } of spans) {
    if (from > at) missing.push({ from: at, to: from });
    at = Math.max(at, to);
  }
  if (at < bytes) missing.push({ from: at, to: bytes });
  return missing;
}

export function spanBytes(spans: readonly Span[]): number {
  return spans.reduce((sum, { from, to }) => sum + to - from, 0);
}
