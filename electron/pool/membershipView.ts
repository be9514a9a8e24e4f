import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { leaderOf } from './election.ts';
import type { MembershipState, Peer } from './membershipState.ts';
import { LOST_MS, SUSPECT_MS } from './membershipTimings.ts';
import type { MemberCard, PresenceRecord } from './presenceRecord.ts';

export type Liveness = 'alive' | 'suspect' | 'lost' | 'left';

/** A member of the pool, as this one sees it. */
export interface MemberPresence {
  id: string;
  self: boolean;
  state: Liveness;
  /** Grows when the member restarts; 0 before it was heard of. */
  incarnation: number;
  /** Whether a connection to it is open; one that is alive without is heard of through others. */
  linked: boolean;
  /** The address at which it was reached last. */
  host: string | null;
  /** What it says about itself; null before it was heard of. */
  card: MemberCard | null;
}

/** All that the rest of the member needs to know. */
export interface MembershipView {
  /** By id, this member included. */
  members: MemberPresence[];
  /** Id of the member that leads; null while there is none. */
  coordinator: string | null;
  /** The newest epoch. */
  epoch: Epoch | null;
}

/** How alive a peer is at the time `now`. */
export function livenessOf(peer: Peer, now: number): Liveness {
  if (peer.record === null) return 'lost';
  if (peer.record.left) return 'left';
  const silence = now - peer.heardAt;
  if (peer.down !== null || silence >= LOST_MS) return 'lost';
  return peer.doubted || silence >= SUSPECT_MS ? 'suspect' : 'alive';
}

/** The records of the members that take part: this one until it leaves, and all that are alive or suspect. */
export function presentRecords({ own, peers, now }: Pick<MembershipState, 'own' | 'peers' | 'now'>): PresenceRecord[] {
  const present = own.left ? [] : [own];
  for (const peer of peers.values()) {
    const liveness = livenessOf(peer, now);
    if (peer.record !== null && (liveness === 'alive' || liveness === 'suspect')) present.push(peer.record);
  }
  return present;
}

export function viewOf(state: Omit<MembershipState, 'view'>): MembershipView {
  const { own, peers, now, epoch } = state;
  const self: MemberPresence = {
    id: own.member,
    self: true,
    state: own.left ? 'left' : 'alive',
    incarnation: own.incarnation,
    linked: false,
    host: null,
    card: own.card,
  };
  const others = [...peers].map(([id, peer]): MemberPresence => {
    const { record, links, reached } = peer;
    return {
      id,
      self: false,
      state: livenessOf(peer, now),
      incarnation: record?.incarnation ?? 0,
      linked: links.size > 0,
      host: reached?.host ?? null,
      card: record?.card ?? null,
    };
  });
  const members = [self, ...others].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { members, coordinator: leaderOf(epoch, presentRecords(state)), epoch };
}
