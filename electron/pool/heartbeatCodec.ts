import { z } from 'zod';
import type { Heartbeat } from '../wire/generated/roomful/v1/heartbeat.ts';
import type { Beat } from './membershipEvents.ts';

/** Most members that a beat may tell about. */
const NEWS_LIMIT = 1000;
/** Counters stay far from where adding one to them would change nothing. */
const counter = z
  .number()
  .int()
  .nonnegative()
  .max(2 ** 50);
const port = z.number().int().min(0).max(65_535);
const line = z.string().max(200);

const beatSchema: z.ZodType<Beat> = z.object({
  epoch: z
    .object({ counter, coordinator: line.min(1) })
    .optional()
    .transform((epoch) => epoch ?? null),
  news: z
    .array(
      z.object({
        silentMs: z.number().int().nonnegative(),
        record: z.object({
          member: line.min(1),
          incarnation: counter,
          run: line,
          sequence: counter,
          left: z.boolean(),
          leads: counter,
          heartbeatPort: port,
          card: z.object({
            name: line,
            build: line,
            wireVersion: counter,
            shareBytes: z.number().int().nonnegative(),
            pinned: z.boolean(),
            abstains: z.boolean(),
            multicast: z.boolean(),
            hosts: z.array(line).max(32),
            controlPort: port,
            rosterVersion: counter,
          }),
        }),
      }),
    )
    .max(NEWS_LIMIT),
});

/** What came over the wire, checked; null when it is no beat. */
export function parseBeat(heartbeat: Heartbeat): Beat | null {
  return beatSchema.safeParse(heartbeat).data ?? null;
}

export function encodeBeat({ epoch, news }: Beat): Heartbeat {
  return {
    epoch: epoch ?? undefined,
    news: news.map(({ record, silentMs }) => ({
      silentMs: Math.round(silentMs),
      record: { ...record, card: { ...record.card, hosts: [...record.card.hosts] } },
    })),
  };
}
