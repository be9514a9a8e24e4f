import type { Page } from '@playwright/test';

/** An event of a trace as DevTools keeps it; times in microseconds. */
interface TraceEvent {
  name: string;
  ph: string;
  ts: number;
  dur?: number;
  tid: number;
}

/** What a page spends on script and on layout; paint and waiting are none of it. */
const counted: ReadonlySet<string> = new Set([
  'EvaluateScript',
  'EventDispatch',
  'FireAnimationFrame',
  'FireIdleCallback',
  'FunctionCall',
  'RunMicrotasks',
  'TimerFire',
  'Layout',
  'UpdateLayoutTree',
  'PrePaint',
]);

/**
 * Records while `work` runs and returns the milliseconds of script and layout between each two marks that the page makes
 * with `performance.mark(mark)`.
 */
export async function traceBetweenMarks(page: Page, mark: string, work: () => Promise<void>): Promise<number[]> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['devtools.timeline', 'blink.user_timing'] },
  });
  await work();
  const ended = new Promise<void>((resolve) => session.once('Tracing.tracingComplete', () => resolve()));
  await session.send('Tracing.end');
  await ended;
  const marks = events.filter(({ name }) => name === mark).sort((a, b) => a.ts - b.ts);
  const thread = marks[0]?.tid;
  const busy = events
    .filter(({ name, ph, tid }) => ph === 'X' && tid === thread && counted.has(name))
    .sort((a, b) => a.ts - b.ts);
  return marks.slice(1).map(({ ts: end }, index) => union(busy, marks[index]?.ts ?? end, end) / 1000);
}

/** The time between two moments that is covered by any of the events, which are sorted and may nest. */
function union(events: readonly TraceEvent[], from: number, to: number): number {
  let covered = 0;
  let reached = from;
  for (const { ts, dur = 0 } of events) {
    const end = Math.min(ts + dur, to);
    if (end <= reached || ts >= to) continue;
    covered += end - Math.max(ts, reached);
    reached = end;
  }
  return covered;
}
