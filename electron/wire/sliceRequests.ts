import { z } from 'zod';
import { ReadSlices } from './generated/roomful/v1/slices.ts';
import { CallRefused } from './wireError.ts';

/** Ranges of one call at most. */
export const MAX_SLICE_RANGES = 4096;

const index = z.number().int().nonnegative();
const range = { offset: index, bytes: z.number().int().positive() };

const rangeSchema = z.union([
  z.object({ tensor: z.string().min(1).max(64), header: z.undefined(), ...range }),
  z.object({ tensor: z.undefined(), header: index.max(2 ** 16), ...range }),
]);

const readSchema = z.object({
  model: z.string().min(1).max(200),
  ranges: z.array(rangeSchema).min(1).max(MAX_SLICE_RANGES),
});

/** A part of a tensor, or of the header of a file. */
export type SlicePart = z.infer<typeof rangeSchema>;

/** Throws CallRefused('BadRequest'). */
export function decodeReadSlices(bytes: Uint8Array): { model: string; ranges: SlicePart[] } {
  const parsed = readSchema.safeParse(decoded(bytes));
  if (parsed.success) return parsed.data;
  throw new CallRefused('BadRequest', `Bad request for slices: ${parsed.error.issues[0]?.message ?? 'unreadable'}`);
}

function decoded(bytes: Uint8Array): unknown {
  try {
    return ReadSlices.decode(bytes);
  } catch (cause) {
    throw new CallRefused('BadRequest', 'Bad request for slices: it cannot be read.', { cause });
  }
}
