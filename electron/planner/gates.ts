import { type Candidate, candidateOf, compareText, offerFor } from './candidate.ts';
import type { Links } from './links.ts';
import { carriesActivations, deviceClassOf, type Member, type Reachability } from './member.ts';
import type { RangeCosts } from './rangeCosts.ts';
import type { Settings } from './settings.ts';

/** Why a member holds no layer. */
export type RejectionReason =
  | { kind: 'Excluded' }
  | { kind: 'Paused' }
  | { kind: 'Stale' }
  | { kind: 'BuildMismatch'; expected: string; found: string }
  | { kind: 'NotDataPlaneReachable'; reachability: Reachability }
  /** Bytes; `needed` is the least offer with which it could hold something. */
  | { kind: 'InsufficientMemory'; offered: number; needed: number }
  /** More members than parts that the model can be cut into. */
  | { kind: 'TooManyMembers'; members: number; parts: number };

export interface Rejection {
  address: string;
  reason: RejectionReason;
}

/** The members that may hold layers, and why the others may not. */
export interface Admission {
  admitted: Candidate[];
  /** Those whose memory alone keeps them out. */
  tooSmall: Candidate[];
  rejected: Rejection[];
  /** Null where nobody leads. */
  coordinator: string | null;
  referenceCommit: string | null;
}

/** Lets in the members that are wanted, awake, of one build, reachable, and large enough for some part of the model. */
export function gates(
  members: readonly Member[],
  links: Links,
  costs: RangeCosts,
  settings: Settings,
  plainRam: boolean,
): Admission {
  const room = [...members].sort((a, b) => compareText(a.address, b.address));
  const rejected: Rejection[] = [];
  const reject = (member: Member, reason: RejectionReason) => rejected.push({ address: member.address, reason });
  const pass = (among: readonly Member[], reasonOf: (member: Member) => RejectionReason | null) =>
    among.filter((member) => {
      const reason = reasonOf(member);
      if (reason !== null) reject(member, reason);
      return reason === null;
    });

  const awake = pass(room, (member) => choiceReason(member, settings) ?? stateReason(member));
  const referenceCommit = settings.referenceCommit ?? referenceOf(room, awake, settings);
  const alike = pass(awake, (member) => buildReason(member, referenceCommit));
  const reachable = pass(alike, (member) => reachReason(member, alike, links, settings));
  const coordinator = settings.coordinator === undefined ? electedOf(reachable) : settings.coordinator;
  const admitted: Candidate[] = [];
  const tooSmall: Candidate[] = [];
  const least = leastPart(costs);
  for (const member of reachable) {
    const candidate = candidateOf(member, costs, settings, { leads: member.address === coordinator, plainRam });
    if (candidate.capacity >= least) {
      admitted.push(candidate);
    } else {
      tooSmall.push(candidate);
      const offered = member.memoryBytes + (plainRam ? (member.hostMemoryBytes ?? 0) : 0);
      const needed = offerFor(least, candidate, settings.headroom);
      reject(member, { kind: 'InsufficientMemory', offered, needed });
    }
  }
  rejected.sort((a, b) => compareText(a.address, b.address));
  return { admitted, tooSmall, rejected, coordinator, referenceCommit };
}

/** The build of the coordinator, else the one that most members run, of equally many that of the lowest address. */
function referenceOf(room: readonly Member[], awake: readonly Member[], settings: Settings): string | null {
  const leader = room.find(({ address }) => address === settings.coordinator);
  if (leader !== undefined) return leader.build;
  const runs = new Map<string, number>();
  for (const { build } of awake) runs.set(build, (runs.get(build) ?? 0) + 1);
  const [commonest] = [...runs].sort((a, b) => b[1] - a[1]);
  return commonest?.[0] ?? null;
}

/** A machine with a GPU leads where there is one, else a CPU member that joins would move the stages about. */
function electedOf(room: readonly Member[]): string | null {
  const isPlain = (member: Member) => Number(deviceClassOf(member) === 'cpu');
  const [first] = [...room].sort(
    (a, b) => isPlain(a) - isPlain(b) || b.memoryBytes - a.memoryBytes || compareText(a.address, b.address),
  );
  return first?.address ?? null;
}

function choiceReason({ address }: Member, { members, excluded }: Settings): RejectionReason | null {
  const unwanted = excluded.includes(address) || (members !== null && !members.includes(address));
  return unwanted ? { kind: 'Excluded' } : null;
}

function stateReason(member: Member): RejectionReason | null {
  if (member.paused === true) return { kind: 'Paused' };
  return member.stale === true ? { kind: 'Stale' } : null;
}

function buildReason(member: Member, expected: string | null): RejectionReason | null {
  if (expected === null || member.build === expected) return null;
  return { kind: 'BuildMismatch', expected, found: member.build };
}

/** What keeps a member out of every ring: its own reachability, or that of all dials to it or all dials from it. */
function reachReason(
  member: Member,
  room: readonly Member[],
  links: Links,
  settings: Settings,
): RejectionReason | null {
  const reachability = blockedBy(member, room, links, settings);
  return reachability === null ? null : { kind: 'NotDataPlaneReachable', reachability };
}

function blockedBy(member: Member, room: readonly Member[], links: Links, settings: Settings): Reachability | null {
  const { address } = member;
  const own = member.reachability ?? 'LocalDirect';
  const others = new Set(links.unknown ? [] : room.map((other) => other.address));
  if (!links.unknown && typeof settings.coordinator === 'string') others.add(settings.coordinator);
  others.delete(address);
  if (others.size === 0) return carriesActivations(own) ? null : own;
  const inward = firstBlock([...others], (other) => links.reachability(other, address));
  if (inward !== null || address === settings.coordinator) return inward;
  return firstBlock([...others], (other) => links.reachability(address, other));
}

/** What blocks the first way, where none is open; null where one is. */
function firstBlock(others: readonly string[], reachability: (other: string) => Reachability): Reachability | null {
  const [first] = others;
  if (first === undefined || others.some((other) => carriesActivations(reachability(other)))) return null;
  return reachability(first);
}

/** Bytes of the smallest part that the model can be cut into. */
export function leastPart(costs: RangeCosts): number {
  let least = Number.POSITIVE_INFINITY;
  costs.boundaries.forEach((end, index) => {
    const start = costs.boundaries[index - 1];
    if (start !== undefined) least = Math.min(least, costs.bytes(start, end));
  });
  return least;
}
