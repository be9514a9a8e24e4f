import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import type { MembershipView } from './membershipView.ts';
import type { MemberCard } from './presenceRecord.ts';

/** What a heartbeat starts with. */
export interface HeartbeatOptions {
  /** Data folder; what must outlive a restart is kept in its `pool`. */
  home: string;
  member: string;
  tls: TlsMaterial;
  /** Literal address to listen at. */
  host: string;
  /** 0 for the one of the last start, or any free one. */
  port: number;
  card: MemberCard;
  /** The other members of the pool and the addresses (`host:port` of their heartbeats) that are known. */
  peers: ReadonlyMap<string, readonly string[]>;
}

/** Member to worker. */
export type HeartbeatOrder =
  | { type: 'addPeer'; peer: string; addresses: readonly string[] }
  | { type: 'removePeer'; peer: string }
  | { type: 'card'; card: MemberCard }
  | { type: 'progress'; peer: string }
  | { type: 'tls'; tls: TlsMaterial }
  /** Ends the worker, with a goodbye to the others where it is wanted. */
  | { type: 'stop'; goodbye: boolean };

/** Worker to member. */
export type HeartbeatReport =
  | { type: 'started'; port: number; view: MembershipView }
  /** Instead of `started`, and the last. */
  | { type: 'failed'; message: string }
  | { type: 'changed'; view: MembershipView }
  | { type: 'twin'; addresses: string[] }
  /** Something that is wrong and does not keep the heartbeat from going on; each is told once. */
  | { type: 'trouble'; message: string };
