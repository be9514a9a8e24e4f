/** What a member tells about itself besides that it lives. */
export interface MemberCard {
  name: string;
  /** Commit of llama.cpp. */
  build: string;
  wireVersion: number;
  /** Bytes of memory that it shares. */
  shareBytes: number;
  /** Its owner wants it to lead: it comes first in an election. */
  pinned: boolean;
  /** Leads only when nobody else can, because it is paused, drains or is about to leave. */
  abstains: boolean;
  /** Looks for others, and can be found, by multicast. */
  multicast: boolean;
  /** Literal addresses of its network cards. */
  hosts: readonly string[];
  controlPort: number;
  /** Version of the roster that it holds. */
  rosterVersion: number;
}

/** The state of a member, written by itself alone; the others hand on the newest that they know. */
export interface PresenceRecord {
  member: string;
  /** Grows with every start. */
  incarnation: number;
  /** Random, one per start: tells two processes that have one id from each other. */
  run: string;
  /** Grows with every beat of a run. */
  sequence: number;
  /** It has said goodbye; final for its run. */
  left: boolean;
  /** Counter of the epoch that it leads, 0 for none. */
  leads: number;
  heartbeatPort: number;
  card: MemberCard;
}

/**
 * Positive when `a` is newer than `b`, 0 when they are the same. A total order over the records of one member, so that
 * taking the newest gives the same whatever the order, and however often, they arrive.
 */
export function compareRecords(a: PresenceRecord, b: PresenceRecord): number {
  if (a.incarnation !== b.incarnation) return a.incarnation - b.incarnation;
  if (a.run !== b.run) return a.run < b.run ? -1 : 1;
  if (a.left !== b.left) return a.left ? 1 : -1;
  return a.sequence - b.sequence;
}
