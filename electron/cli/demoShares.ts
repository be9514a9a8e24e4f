import { servingSizes } from '../pipeline/placement/servingSizes.ts';
import type { ModelShape } from '../planner/modelShape.ts';
import { memoryToShare } from '../planner/stageBytes.ts';

export interface DemoShareOptions {
  /** Sizes that the model will be served with, as a ServeRequest names them. */
  contextLength?: number;
  slots?: number;
  /** Whether the first member leads; true where it is left out. */
  leads?: boolean;
}

/**
 * Bytes that each of `members` shares so that the model needs all of them: about as many layers fit on each. The first
 * leads. A model that must stay whole gets one member that can hold it, and others that cannot. Throws where the model
 * has fewer layers, or places to cut it, than there are to be members.
 */
export function demoShares(shape: ModelShape, members: number, options: DemoShareOptions = {}): number[] {
  const sizes = servingSizes(shape, options);
  const layers = shape.layers.length;
  const leads = options.leads ?? true;
  const role = (index: number) => ({ leads: leads && index === 0, deviceClass: 'cpu' as const });
  const stages = shape.cutPoints.length === 0 ? 1 : members;
  if (stages > shape.cutPoints.length + 1) {
    const most = shape.cutPoints.length + 1;
    throw new Error(
      `${shape.name} has ${layers} layers, enough for ${most} members; ask for --members ${most} or fewer.`,
    );
  }
  const bounds = [0, ...evenly(shape.cutPoints, stages - 1), layers];
  const shares = Array.from({ length: members }, (_, index) => {
    const [start, end] = [bounds[index], bounds[index + 1]];
    if (start === undefined || end === undefined) return memoryToShare(shape, { start: 0, end: 1 }, sizes, role(index));
    return memoryToShare(shape, { start, end }, sizes, role(index));
  });
  return shares;
}

/** `count` of the values, spread evenly. */
function evenly(values: readonly number[], count: number): number[] {
  return Array.from({ length: count }, (_, index) => {
    const at = Math.round(((index + 1) * (values.length + 1)) / (count + 1)) - 1;
    return values[Math.min(values.length - 1, Math.max(at, index))] ?? 0;
  });
}
