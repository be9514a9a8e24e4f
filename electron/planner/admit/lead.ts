import type { Settings } from '../costs/settings.ts';
import { carriesActivations, deviceClassOf, type Member } from '../member.ts';
import { exactLimit } from '../pack/memberSets.ts';
import { compareText } from './candidate.ts';
import { absence } from './gates.ts';
import type { Links } from './links.ts';

/** Who leads, and the build that members must run. */
export interface Lead {
  /** Null where nobody leads. */
  coordinator: string | null;
  /** Null in an empty room. */
  referenceCommit: string | null;
}

/** Leaders that are tried in a room too large to try all of them. */
const leadersInLargeRooms = 8;

/**
 * The builds that a room may be served with, the one to prefer first: the build asked for, else that of the coordinator
 * given, else all that awake members run, by the memory of their GPUs, then by all their memory, then by the lowest address.
 */
export function buildsOf(members: readonly Member[], settings: Settings): readonly (string | null)[] {
  if (settings.referenceCommit !== null) return [settings.referenceCommit];
  const leader = members.find(({ address }) => address === settings.coordinator);
  if (leader !== undefined) return [leader.build];
  const known = new Map<string, { accelerated: number; memory: number; lowest: string }>();
  for (const member of members) {
    if (absence(member, settings) !== null) continue;
    const { accelerated, memory, lowest } = known.get(member.build) ?? {
      accelerated: 0,
      memory: 0,
      lowest: member.address,
    };
    known.set(member.build, {
      accelerated: accelerated + (isPlain(member) ? 0 : member.memoryBytes),
      memory: memory + member.memoryBytes,
      lowest: compareText(member.address, lowest) < 0 ? member.address : lowest,
    });
  }
  const ranked = [...known].sort(
    ([, a], [, b]) => b.accelerated - a.accelerated || b.memory - a.memory || compareText(a.lowest, b.lowest),
  );
  return ranked.length === 0 ? [null] : ranked.map(([build]) => build);
}

/**
 * Who may lead members of a build, the one to prefer first: the coordinator given, else whoever of them has a way in and a
 * way out, most memory first, then the lower address. Machines without a GPU are asked for by themselves, since one that
 * joins must not move the stages of GPUs about.
 */
export function leadersOf(
  members: readonly Member[],
  build: string | null,
  links: Links,
  settings: Settings,
  plain: boolean,
): readonly (string | null)[] {
  if (settings.coordinator !== undefined) return [settings.coordinator];
  const alike = members.filter((member) => member.build === build && absence(member, settings) === null);
  const ranked = alike
    .filter((member) => isPlain(member) === plain)
    .map((member) => ({ member, cutOff: Number(isCutOff(member, alike, links)) }))
    .sort(
      (a, b) =>
        a.cutOff - b.cutOff ||
        b.member.memoryBytes - a.member.memoryBytes ||
        compareText(a.member.address, b.member.address),
    )
    .map(({ member }) => member);
  const unlike = links.unknown && settings.members === null ? withoutTwins(ranked, settings) : ranked;
  return unlike.map(({ address }) => address);
}

/** The first of those that differ in nothing but their names: it makes no difference which of them leads. */
function withoutTwins(ranked: readonly Member[], { measured }: Settings): readonly Member[] {
  const seen = new Set<string>();
  return ranked.filter((member) => {
    const { address, name: _, ...traits } = member;
    if (measured.some((stage) => stage.address === address)) return true;
    const kind = JSON.stringify(Object.entries(traits).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (seen.has(kind)) return false;
    seen.add(kind);
    return true;
  });
}

/** The leaders that are tried where not all of them can be. */
export function fewLeaders(ranked: readonly (string | null)[]): readonly (string | null)[] {
  if (ranked.length <= exactLimit) return ranked;
  // One that holds little costs the least room by leading.
  return [...ranked.slice(0, leadersInLargeRooms), ...ranked.slice(-1)];
}

function isPlain(member: Member): boolean {
  return deviceClassOf(member) === 'cpu';
}

function isCutOff({ address, reachability = 'LocalDirect' }: Member, room: readonly Member[], links: Links): boolean {
  if (links.unknown) return !carriesActivations(reachability);
  if (room.length === 1) return false;
  const open = (usable: (other: string) => boolean) =>
    room.some((other) => other.address !== address && usable(other.address));
  return !open((other) => links.usable(other, address)) || !open((other) => links.usable(address, other));
}
