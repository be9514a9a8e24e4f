import { formatBytes } from '../../electron/planner/formatBytes.ts';
import type { Plan } from '../../electron/planner/plan.ts';

type Placed = Pick<Plan, 'fit' | 'pipelines' | 'shortfall'>;

/** Where the plan puts the model, or what it lacks, in a few words. */
export function fitText({ fit, pipelines, shortfall }: Placed): string {
  const missing = shortfall?.missingBytes ?? 0;
  if (fit === 'DoesNotFit') return missing > 0 ? `${formatBytes(missing)} missing` : 'Does not fit';
  const members = pipelines.reduce((sum, { stages }) => sum + stages.length, 0);
  const on = members === 1 ? 'one member' : `${members} members`;
  return pipelines.length > 1 ? `${pipelines.length} pipelines on ${on}` : `On ${on}`;
}

/** How many hops a token makes, `1–2` where pipelines differ. */
export function hopsText(pipelines: readonly Pick<Plan['pipelines'][number], 'hops'>[]): string {
  const hops = pipelines.map((pipeline) => pipeline.hops);
  const [least, most] = [Math.min(...hops), Math.max(...hops)];
  return least === most ? String(most) : `${least}–${most}`;
}
