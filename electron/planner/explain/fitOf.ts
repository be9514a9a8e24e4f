import type { Assignment } from '../assign.ts';

/**
 * `RunLocal`: one member serves. `ClusterRequired`: no member could alone. `ClusterForced`: one could, but a cluster was
 * asked for. `DoesNotFit`: these members cannot serve the model as wanted.
 */
export type Fit = 'RunLocal' | 'ClusterRequired' | 'ClusterForced' | 'DoesNotFit';

/** How a model fits its room. */
export function fitOf({ pipelines, fitsOne }: Pick<Assignment, 'pipelines' | 'fitsOne'>): Fit {
  const [first] = pipelines;
  if (first === undefined) return 'DoesNotFit';
  if (first.length === 1) return 'RunLocal';
  return fitsOne ? 'ClusterForced' : 'ClusterRequired';
}
