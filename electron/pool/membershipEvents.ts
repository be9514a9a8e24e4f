import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import type { MembershipView } from './membershipView.ts';
import type { MemberCard, PresenceRecord } from './presenceRecord.ts';

/** What one member tells another, every time: all that it knows. */
export interface Beat {
  epoch: Epoch | null;
  /** The sender's own record first. */
  news: PresenceNews[];
}

export interface PresenceNews {
  record: PresenceRecord;
  /** How long the sender has had no sign of life of that member, ms; 0 of itself. */
  silentMs: number;
}

/** Everything that can happen to a membership. `at` is ms of a clock that never goes back. */
export type MembershipEvent = { at: number } & (
  | { type: 'tick' /** Wall clock, ms. */; wall: number }
  /** A connection with a peer is open; `port` is null when the peer dialled. Link names are never used twice. */
  | { type: 'linkUp'; peer: string; link: string; host: string; port: number | null }
  /** A link ended, other than by the effect `closeLink`. */
  | { type: 'linkDown'; peer: string; link: string }
  | { type: 'beat'; peer: string; link: string; beat: Beat }
  /** Nobody listens at an address that is being dialled. */
  | { type: 'dialRefused'; peer: string; address: string }
  /** No address of a peer led to it. */
  | { type: 'dialFailed'; peer: string }
  /** The effect `persist` is done, or has failed for good. */
  | { type: 'persisted'; epoch: Epoch }
  /** A peer did something that only a living member can, on the data plane say. */
  | { type: 'progress'; peer: string }
  /** The pool has a further member, or it is found at these addresses (`host:port` of its heartbeat). */
  | { type: 'peerAdded'; peer: string; addresses: readonly string[] }
  | { type: 'peerRemoved'; peer: string }
  | { type: 'card'; card: MemberCard }
  | { type: 'leave' }
);

/** What is to be done about it. */
export type MembershipEffect =
  | { type: 'send'; links: string[]; beat: Beat }
  /** Dials the addresses, the likeliest first, and gives up an earlier dial of that peer. Answered by linkUp or dialFailed. */
  | { type: 'dial'; peer: string; addresses: string[] }
  | { type: 'closeLink'; link: string }
  /** Keeps the epoch on disk. Answered by persisted. */
  | { type: 'persist'; epoch: Epoch }
  | { type: 'changed'; view: MembershipView }
  /** A peer named an epoch or a start that its pool cannot have come to; it is not believed. */
  | { type: 'incredible'; peer: string }
  /** Another process lives with the id of this one. */
  | { type: 'twin'; record: PresenceRecord };
