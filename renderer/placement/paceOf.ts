import { formatMs } from '../controls/formatMs.ts';

/** A measured time beside the predicted one, for people: `1.3 ms (1.1 ms predicted)`. */
export function paceOf({ predictedMs, measuredMs }: { predictedMs: number; measuredMs: number | null }): string {
  if (measuredMs === null) return `${formatMs(predictedMs)} predicted`;
  return `${formatMs(measuredMs)} (${formatMs(predictedMs)} predicted)`;
}
