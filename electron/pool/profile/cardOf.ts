import type { MemberCard } from '../presenceRecord.ts';
import type { Profile } from './profile.ts';

/** What heartbeats tell of a profile: a member that is paused shares nothing, and leads only where nobody else can. */
export function cardOf({ memoryBytes, paused }: Profile): Pick<MemberCard, 'shareBytes' | 'abstains'> {
  const isPaused = paused.length > 0;
  return { shareBytes: isPaused ? 0 : memoryBytes, abstains: isPaused };
}
