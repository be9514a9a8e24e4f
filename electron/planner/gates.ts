import { type Candidate, candidateOf, compareText, offerFor } from './candidate.ts';
import type { Links } from './links.ts';
import { carriesActivations, type Member, type Reachability } from './member.ts';
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
  const referenceCommit = settings.referenceCommit ?? referenceOf(room, settings);
  const rejected: Rejection[] = [];
  const reject = (member: Member, reason: RejectionReason) => rejected.push({ address: member.address, reason });

  const awake = room.filter((member) => {
    const reason = choiceReason(member, settings) ?? stateReason(member) ?? buildReason(member, referenceCommit);
    if (reason !== null) reject(member, reason);
    return reason === null;
  });
  const reachable = awake.filter((member) => {
    const reachability = blockedBy(member, awake, links, settings);
    if (reachability !== null) reject(member, { kind: 'NotDataPlaneReachable', reachability });
    return reachability === null;
  });
  const coordinator = settings.coordinator === undefined ? electedOf(reachable) : settings.coordinator;
  const admitted: Candidate[] = [];
  const least = leastPart(costs);
  for (const member of reachable) {
    const candidate = candidateOf(member, costs, settings, { leads: member.address === coordinator, plainRam });
    if (candidate.capacity >= least) {
      admitted.push(candidate);
    } else {
      const offered = member.memoryBytes + (plainRam ? (member.hostMemoryBytes ?? 0) : 0);
      const needed = offerFor(least, candidate, settings.headroom);
      reject(member, { kind: 'InsufficientMemory', offered, needed });
    }
  }
  rejected.sort((a, b) => compareText(a.address, b.address));
  return { admitted, rejected, coordinator, referenceCommit };
}

function referenceOf(room: readonly Member[], settings: Settings): string | null {
  const leader = room.find(({ address }) => address === settings.coordinator) ?? room[0];
  return leader?.build ?? null;
}

function electedOf(room: readonly Member[]): string | null {
  const [first] = [...room].sort((a, b) => b.memoryBytes - a.memoryBytes || compareText(a.address, b.address));
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

/** What keeps a member out of every ring: its own reachability, or that of all dials to it or from it. */
function blockedBy(member: Member, room: readonly Member[], links: Links, settings: Settings): Reachability | null {
  const { address } = member;
  const others = new Set(room.map((other) => other.address));
  if (typeof settings.coordinator === 'string') others.add(settings.coordinator);
  others.delete(address);
  const own = member.reachability ?? 'LocalDirect';
  if (others.size === 0) return carriesActivations(own) ? null : own;
  const inbound = [...others].map((other) => links.reachability(other, address));
  if (!inbound.some(carriesActivations)) return inbound[0] ?? own;
  if (address === settings.coordinator) return null;
  const outbound = [...others].map((other) => links.reachability(address, other));
  return outbound.some(carriesActivations) ? null : (outbound[0] ?? own);
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
