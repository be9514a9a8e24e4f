import { z } from 'zod';
import { PoolError } from '../poolError.ts';

/** What people call a member or a pool: at most 64 characters on one line, none of them invisible. */
export const nameSchema = z
  .string()
  .trim()
  .min(1, 'is empty')
  .max(64, 'is longer than 64 characters')
  .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u, 'has characters that cannot be shown');

/** The name, trimmed. Throws PoolError('BadName') that says what is wrong with it. */
export function parseName(name: string): string {
  const parsed = nameSchema.safeParse(name);
  if (parsed.success) return parsed.data;
  throw new PoolError('BadName', `The name ${parsed.error.issues[0]?.message ?? 'is unusable'}. Choose another one.`);
}
