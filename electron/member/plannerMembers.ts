import type { Member } from '../planner/member.ts';
import { plannerFacts } from '../pool/profile/profile.ts';
import type { Pool } from './openPool.ts';
import type { Machine } from './startMachine.ts';

/** The members that live, as the planner sees them, for a question that nobody waits long for: no links, nobody is asked. */
export function plannerMembers({ pool }: Pool, machine: Machine): Member[] {
  const alive = pool.members().filter(({ state, reject, self }) => self || (state === 'alive' && reject === null));
  return alive.map(({ id, name, self, build, shareBytes }): Member => {
    const profile = self ? (machine.profile?.current ?? null) : (pool.session?.profileOf(id) ?? null);
    const facts =
      profile === null
        ? { backend: 'Cpu' as const, memoryBytes: Math.max(1, self ? machine.memoryBytes : shareBytes) }
        : plannerFacts(profile);
    return { address: id, name, build: build ?? 'unknown', ...facts };
  });
}
