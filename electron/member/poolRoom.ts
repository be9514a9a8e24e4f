import { PipelineError } from '../pipeline/pipelineError.ts';
import type { RoomMember, ServingRoom } from '../pipeline/placement/servingRoom.ts';
import { dialMember } from '../pool/dialMember.ts';
import type { PoolMember } from '../pool/poolMember.ts';
import { type Profile, plannerFacts } from '../pool/profile/profile.ts';
import { WrongPeer } from '../wire/wireError.ts';
import type { Changes } from './changes.ts';

export interface PoolRoomOptions {
  pool: PoolMember;
  changes: Changes;
  /** Of this machine; null where its sizes are given. */
  ownProfile(): Profile | null;
  ownAddress(): string;
}

/** The pool as serving sees it; a member that nobody finds is alone, and takes part with those that it is told of. */
export function poolRoom({ pool, changes, ownProfile, ownAddress }: PoolRoomOptions): ServingRoom {
  const { trust } = pool;
  const factsOf = (profile: Profile | null) => (profile === null ? null : plannerFacts(profile));
  return {
    members: () => {
      const { session } = pool;
      const own: RoomMember = {
        id: trust.self.id,
        name: trust.self.name,
        self: true,
        state: 'alive',
        address: ownAddress(),
        facts: factsOf(ownProfile()),
        link: null,
        ways: [],
      };
      if (session === null) return [own];
      const others = pool.members().flatMap(({ id, name, self, state, address, link }): RoomMember[] => {
        if (self) return [];
        const facts = factsOf(session.profileOf(id));
        return [{ id, name, self, state, address, facts, link, ways: session.waysOf(id) }];
      });
      return [own, ...others];
    },
    leader: () => (pool.standsAlone() ? trust.self.id : pool.coordinator()),
    memberAt: async (address) => {
      const found = await memberIdAt(address, trust.tls);
      if (trust.members.some(({ id }) => id === found)) return found;
      throw new PipelineError('FormFailed', `Who answers at ${address} is no member of this pool.`);
    },
    onChange: (listener) => changes.on(listener),
  };
}

async function memberIdAt(address: string, tls: PoolMember['trust']['tls']): Promise<string> {
  // Nobody has this id, so that whoever answers is told to be somebody else.
  const nobody = '-';
  try {
    await dialMember({ address, member: nobody, tls });
    return nobody;
  } catch (cause) {
    if (cause instanceof WrongPeer) return cause.found;
    throw cause;
  }
}
