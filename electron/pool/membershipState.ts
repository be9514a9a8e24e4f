import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { NEWCOMER_SETTLE_MS, SETTLE_MS } from './membershipTimings.ts';
import { type MembershipView, viewOf } from './membershipView.ts';
import type { PresenceRecord } from './presenceRecord.ts';

/** Another member, as this one sees it. Times are ms of a clock that never goes back. */
export interface Peer {
  /** Where this member was told to look for it, `host:port` of its heartbeat. */
  readonly addresses: readonly string[];
  /** Where it was reached last: the port is null when it was the one to dial. */
  readonly reached: { readonly host: string; readonly port: number | null } | null;
  /** Null until somebody tells about it. */
  readonly record: PresenceRecord | null;
  /** When it last gave a sign of life, as far as known. */
  readonly heardAt: number;
  /** Its process is gone: nobody listens where its connection broke. Only a later sign of life than `beyond` counts. */
  readonly down: { readonly run: string; readonly beyond: number } | null;
  /** Its connection broke and could not be made again; suspect until it is heard. */
  readonly doubted: boolean;
  /** Open links, and when each last brought something. */
  readonly links: ReadonlyMap<string, number>;
  readonly dialling: boolean;
  /** Its last connection broke; the dial under way tells what that means. */
  readonly broken: boolean;
  readonly nextDialAt: number;
  /** Dials that failed in a row. */
  readonly failures: number;
}

export interface MembershipState {
  /** When the last event came. */
  readonly now: number;
  /** When the pool was made, ms since 1970. */
  readonly poolMadeMs: number;
  /** Wall clock minus `now`, at the last tick: it jumps when the machine has slept. */
  readonly wallAhead: number | null;
  readonly own: PresenceRecord;
  readonly nextBeatAt: number;
  /** Another process with this member's id, and the incarnation that was set against it. */
  readonly rival: { readonly run: string; readonly against: number } | null;
  /** The newest epoch that is known and on disk. */
  readonly epoch: Epoch | null;
  /** A newer one on its way to the disk; `own` when this member has begun it. */
  readonly pending: { readonly epoch: Epoch; readonly own: boolean } | null;
  /** Until then this member looks for a leader before it leads. */
  readonly quietUntil: number;
  /** Whether anybody has told it anything since it started or woke. */
  readonly heardAnyone: boolean;
  readonly peers: ReadonlyMap<string, Peer>;
  /** What the outside was told last. */
  readonly view: MembershipView;
}

export const newPeer: Peer = {
  addresses: [],
  reached: null,
  record: null,
  heardAt: Number.NEGATIVE_INFINITY,
  down: null,
  doubted: false,
  links: new Map(),
  dialling: false,
  broken: false,
  nextDialAt: 0,
  failures: 0,
};

/** How long a member that knows this epoch, or none, looks for a leader before it leads, ms. */
export function settleMs(epoch: Epoch | null): number {
  return epoch === null ? NEWCOMER_SETTLE_MS : SETTLE_MS;
}

/** The state of a member that starts. `epoch` is the newest that it knew before, `own` the record of this start. */
export function startingState(options: {
  at: number;
  own: PresenceRecord;
  epoch: Epoch | null;
  peers: ReadonlyMap<string, readonly string[]>;
  poolMadeMs: number;
}): MembershipState {
  const { at, own, epoch, poolMadeMs } = options;
  const peers = new Map([...options.peers].map(([id, addresses]) => [id, { ...newPeer, addresses }]));
  const state = {
    now: at,
    poolMadeMs,
    wallAhead: null,
    own,
    nextBeatAt: at,
    rival: null,
    epoch,
    pending: null,
    quietUntil: at + settleMs(epoch),
    heardAnyone: false,
    peers,
  };
  return { ...state, view: viewOf(state) };
}
