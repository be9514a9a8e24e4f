import { z } from 'zod';

const id = z.string().regex(/^[a-z2-7]{52}$/);

/** What `roomful status --json` prints, as the issue of the pool says it: these fields and no others. */
export const statusSchema = z.strictObject({
  self: z.strictObject({ id, name: z.string() }),
  pool: z.strictObject({ id, name: z.string() }).nullable(),
  coordinator: id.nullable(),
  epoch: z.strictObject({ counter: z.int().positive(), coordinator: id }).nullable(),
  members: z.array(
    z.strictObject({
      id,
      name: z.string(),
      state: z.enum(['alive', 'suspect', 'lost', 'left']),
      self: z.boolean(),
      address: z.string().nullable(),
      shareBytes: z.int().nonnegative(),
      devices: z.array(z.looseObject({ name: z.string(), backend: z.string(), totalBytes: z.int().positive() })),
      build: z.string().nullable(),
      reject: z.looseObject({ kind: z.string() }).nullable(),
    }),
  ),
  pipelines: z.array(z.looseObject({ id: z.string(), modelId: z.string(), hops: z.int().nonnegative() })),
});
export type PoolStatus = z.infer<typeof statusSchema>;
