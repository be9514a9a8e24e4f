import type { Presence } from '../../wire/generated/roomful/v1/trust.ts';

/** What becomes of two processes with the same id. */
export type TwinVerdict = 'Same' | 'Stay' | 'Rekey';

/**
 * Whether this process must take a new key, because another one has the same. Both ask it of each other and come to opposite
 * answers: whoever does not run where the key was made gives way, else the one that started later.
 */
export function judgeTwin(own: Presence, other: Presence): TwinVerdict {
  if (own.instance === other.instance) return 'Same';
  if (own.atHome !== other.atHome) return own.atHome ? 'Stay' : 'Rekey';
  if (own.startedAtMs !== other.startedAtMs) return own.startedAtMs < other.startedAtMs ? 'Stay' : 'Rekey';
  return own.instance < other.instance ? 'Stay' : 'Rekey';
}
