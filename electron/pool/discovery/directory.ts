import { type Candidate, rankCandidates } from './candidate.ts';
import type { NetworkCard } from './networkCard.ts';

/** What was heard of a member last from one of its addresses by one card. */
export interface Sighting {
  /** Source of the packet. */
  from: string;
  /** Name of the card. */
  card: string;
  /** When, ms. */
  at: number;
  build: string;
  /** See Announcement. */
  run: string;
  edition: number;
  candidates: readonly Candidate[];
}

/** Who was heard of, by member id, newest first. Never changed in place. */
export type Directory = ReadonlyMap<string, readonly Sighting[]>;

export interface FoundMember {
  id: string;
  build: string;
  /** Best first. */
  candidates: readonly Candidate[];
}

/** More ids than any room holds: what goes beyond is somebody's noise. */
const MAX_MEMBERS = 1000;
const MAX_SIGHTINGS = 16;

/** Adds what was heard, and drops what the member no longer says. */
export function addSighting(directory: Directory, id: string, sighting: Sighting): Directory {
  const known = directory.get(id);
  if (known === undefined && directory.size >= MAX_MEMBERS) return directory;
  const { card, from, run, edition } = sighting;
  const current = (known ?? []).filter((other) => other.run === run);
  if (current.some((other) => other.edition > edition)) return directory;
  const others = current.filter((other) => other.edition === edition && (other.card !== card || other.from !== from));
  return new Map(directory).set(id, [sighting, ...others].slice(0, MAX_SIGHTINGS));
}

export function removeMember(directory: Directory, id: string): Directory {
  const next = new Map(directory);
  next.delete(id);
  return next;
}

/** Keeps the sightings by these cards from `since` on. */
export function keepSightings(directory: Directory, keep: { cards: ReadonlySet<string>; since: number }): Directory {
  const next = new Map<string, readonly Sighting[]>();
  for (const [id, sightings] of directory) {
    const kept = sightings.filter(({ card, at }) => keep.cards.has(card) && at >= keep.since);
    if (kept.length > 0) next.set(id, kept);
  }
  return next;
}

/** Everyone with all addresses, as seen from the cards of this machine. */
export function foundMembers(directory: Directory, cards: readonly NetworkCard[]): Map<string, FoundMember> {
  const found = new Map<string, FoundMember>();
  for (const [id, sightings] of directory) {
    const bySource = [...sightings].sort((one, other) => (sourceOf(one) < sourceOf(other) ? -1 : 1));
    const candidates = rankCandidates(
      bySource.flatMap((sighting) => sighting.candidates),
      cards,
    );
    found.set(id, { id, build: sightings[0]?.build ?? '', candidates });
  }
  return found;
}

/** A fixed order, so that hearing the same again changes nothing. */
function sourceOf({ card, from }: Sighting): string {
  return `${card} ${from}`;
}
