import { formatMs } from '../controls/formatMs.ts';

/** A measured time beside the predicted one, for people: `1.3 ms (1.1 predicted)`. */
export function paceOf({ predictedMs, measuredMs }: { predictedMs: number; measuredMs: number | null }): string {
  const predicted = formatMs(predictedMs);
  if (measuredMs === null) return `${predicted} predicted`;
  const measured = formatMs(measuredMs);
  const unit = / m?s$/.exec(measured)?.[0] ?? '';
  return `${measured} (${predicted.endsWith(unit) ? predicted.slice(0, -unit.length) : predicted} predicted)`;
}
