import { z } from 'zod';
import type { Epoch } from './generated/roomful/v1/ring.ts';

export const epochSchema: z.ZodType<Epoch> = z.object({
  counter: z.number().int().nonnegative(),
  coordinator: z.string().min(1),
});

/** Negative when `a` is older than `b`, 0 when they are the same: by counter, then by coordinator id (by code unit). */
export function compareEpochs(a: Epoch, b: Epoch): number {
  if (a.counter !== b.counter) return a.counter < b.counter ? -1 : 1;
  if (a.coordinator === b.coordinator) return 0;
  return a.coordinator < b.coordinator ? -1 : 1;
}
