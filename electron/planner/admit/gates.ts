import type { RangeCosts } from '../costs/rangeCosts.ts';
import type { Settings } from '../costs/settings.ts';
import { carriesActivations, type Member, type Reachability } from '../member.ts';
import { type Candidate, compareText, offerFor, type Role } from './candidate.ts';
import type { Lead } from './lead.ts';
import type { Links } from './links.ts';

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

/** What a member offers in a role. */
export type OfferOf = (member: Member, role: Role) => Candidate;

/** Lets in the members that are wanted, awake, of one build, reachable, and large enough for some part of the model. */
export function gates(
  members: readonly Member[],
  links: Links,
  costs: RangeCosts,
  settings: Settings,
  { coordinator, referenceCommit }: Lead,
  offerOf: OfferOf,
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

  const awake = pass(room, (member) => absence(member, settings));
  const alike = pass(awake, (member) => buildReason(member, referenceCommit));
  const addresses = alike.map(({ address }) => address);
  const admitted: Candidate[] = [];
  const tooSmall: Candidate[] = [];
  const least = leastPart(costs);
  const whole = costs.bytes(0, costs.layerCount);
  for (const member of alike) {
    const candidate = offerOf(member, { leads: member.address === coordinator, plainRam });
    const reachability = blockedBy(member, addresses, links, coordinator, candidate.capacity >= whole);
    if (reachability !== null) {
      reject(member, { kind: 'NotDataPlaneReachable', reachability });
    } else if (candidate.capacity >= least) {
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

/** Why a member takes no part whatever the model: it is not wanted, or not there. */
export function absence(member: Member, settings: Settings): RejectionReason | null {
  return choiceReason(member, settings) ?? stateReason(member);
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

/**
 * What keeps a member out of every ring; null where it may take part. A ring of one member that leads itself, or that nobody
 * leads, needs no link. Of a larger ring a member needs a way in and a way out, and the coordinator's own ways count.
 */
function blockedBy(
  { address, reachability = 'LocalDirect' }: Member,
  room: readonly string[],
  links: Links,
  coordinator: string | null,
  holdsAll: boolean,
): Reachability | null {
  const leads = address === coordinator;
  // Without any dial to go by, a member that is only reached from outside is no one's neighbour.
  if (links.unknown && coordinator === null && !carriesActivations(reachability)) return reachability;
  const starts = coordinator === null || links.usable(coordinator, address);
  const finishes = coordinator === null || links.usable(address, coordinator);
  if (holdsAll && starts && finishes) return null;
  const others = room.filter((other) => other !== address);
  if (others.length === 0 && starts && finishes) return null;
  const entered = others.some((other) => links.usable(other, address));
  const left = others.some((other) => links.usable(address, other));
  if (entered && left) return null;
  if (!leads && ((starts && left) || (entered && finishes))) return null;
  const neighbours = coordinator === null || leads ? others : [coordinator, ...others];
  const ways = [
    ...neighbours.map((other) => links.reachability(other, address)),
    ...neighbours.map((other) => links.reachability(address, other)),
  ];
  return ways.find((way) => !carriesActivations(way)) ?? reachability;
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
