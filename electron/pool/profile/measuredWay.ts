import { z } from 'zod';

const measuredWaySchema = z.object({
  /** Id of the member at the other end. */
  member: z.string().min(1).max(100),
  rttMs: z.number().nonnegative(),
  /** From there to the member that has measured. */
  bytesPerSecond: z.number().positive(),
});
/** The way from another member, as one has measured it. */
export type MeasuredWay = z.infer<typeof measuredWaySchema>;

export const measuredWaysSchema = z.array(measuredWaySchema).max(1000);
