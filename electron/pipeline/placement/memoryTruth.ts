import type { Backend } from '../../planner/backend.ts';

/** What of memory is learnt for: what a stage takes beside the plan depends on the model, on the machine and on how it computes. */
export interface MemoryKey {
  /** Content id of the model. */
  model: string;
  /** Id of the member, and so its devices. */
  member: string;
  backend: Backend;
}

/** A stage that has loaded: bytes that were planned for it, and that it took. */
export interface MemoryObservation extends MemoryKey {
  plannedBytes: number;
  takenBytes: number;
}

/** How much more than planned stages have taken; negative for less. */
export interface MemoryTruth extends MemoryKey {
  extraBytes: number;
}

/** A stage that takes this much more than planned is one whose buffers were rounded up. */
export const ROUNDED_BYTES = 32 * 1024 * 1024;

/** So many are kept, the newest. */
const MOST_TRUTHS = 1000;

/**
 * What is known after one more stage has loaded. More than was known counts at once, because the next load may fail by it;
 * less counts by half, because another range of layers may take more again. Pure; the newest come last.
 */
export function learnMemory(known: readonly MemoryTruth[], seen: MemoryObservation): MemoryTruth[] {
  const { model, member, backend } = seen;
  const extra = seen.takenBytes - seen.plannedBytes;
  const before = known.find((truth) => isOf(truth, seen))?.extraBytes ?? extra;
  const extraBytes = Math.ceil(extra >= before ? extra : (extra + before) / 2);
  const others = known.filter((truth) => !isOf(truth, seen));
  return [...others, { model, member, backend, extraBytes }].slice(-MOST_TRUTHS);
}

/**
 * What the planner should add to a stage of this model there; 0 where none has loaded yet, and for the little that buffers
 * are rounded up by: it fitted, and would keep a model out of the room that it has just been served in.
 */
export function extraBytesOf(known: readonly MemoryTruth[], key: MemoryKey): number {
  const extraBytes = known.find((truth) => isOf(truth, key))?.extraBytes ?? 0;
  return extraBytes > 0 && extraBytes <= ROUNDED_BYTES ? 0 : extraBytes;
}

function isOf(truth: MemoryTruth, { model, member, backend }: MemoryKey): boolean {
  return truth.model === model && truth.member === member && truth.backend === backend;
}
