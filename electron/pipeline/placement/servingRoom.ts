import type { Member } from '../../planner/member.ts';
import type { MeasuredWay } from '../../pool/profile/measuredWay.ts';

/** What the planner takes from a member's profile. */
export type MemberFacts = Omit<Member, 'address' | 'name' | 'build' | 'reachability' | 'stale'>;

/** A member of the pool, as this one sees it. */
export interface RoomMember {
  id: string;
  name: string;
  self: boolean;
  state: 'alive' | 'suspect' | 'lost' | 'left';
  /** `host:port` of its control plane; null where none is known. */
  address: string | null;
  /** Null until it has told of its machine. */
  facts: MemberFacts | null;
  /** The way to it; null of this member, and before it is measured. */
  link: { rttMs: number; bytesPerSecond: number } | null;
  /** The ways to it from others than this one, as it has measured them. */
  ways: readonly MeasuredWay[];
}

/** Who is there, as serving sees it. */
export interface ServingRoom {
  /** Everyone in the pool; this member alone in none. */
  members(): RoomMember[];
  /** Id of the member that leads, this one's where it is alone; null while nobody does. */
  leader(): string | null;
  /** The id of the member of the pool that answers at an address. Rejects with one plain line where none does. */
  memberAt(address: string): Promise<string>;
  /** Calls `listener` after every change of `members` and `leader`, until the function that it returns is called. */
  onChange(listener: () => void): () => void;
}
