import type { Rejection } from '../admit/gates.ts';
import type { Settings } from '../costs/settings.ts';
import { formatBytes } from '../formatBytes.ts';
import { carriesActivations, type Member } from '../member.ts';

/** A gate that someone can open: what keeps out a member that has memory. */
export type OpenableGate = 'Paused' | 'Stale' | 'Excluded' | 'BuildMismatch' | 'NotDataPlaneReachable';

/** Members that would hold the model together with the others if they were let in. */
export interface LetIn {
  kind: 'LetIn';
  members: { address: string; gate: OpenableGate; memoryBytes: number }[];
  /** The build that all members must run. */
  build: string;
}

interface Change {
  members: readonly Member[];
  settings: Partial<Settings>;
}

/** Members that are tried one by one, and at most so many together. */
const mostTried = 8;

/**
 * Whom to let in so that the model fits: each member that would do by itself, else the fewest of the largest that do together.
 * Nobody where gates are not the obstacle.
 */
export function letIn(
  members: readonly Member[],
  rejected: readonly Rejection[],
  settings: Settings,
  build: string | null,
  fits: (change: Change) => boolean,
): LetIn[] {
  const memoryOf = new Map(members.map(({ address, memoryBytes }) => [address, memoryBytes]));
  const kept = rejected
    .flatMap(({ address, reason: { kind } }) =>
      isOpenable(kind) ? [{ address, gate: kind, memoryBytes: memoryOf.get(address) ?? 0 }] : [],
    )
    .sort((a, b) => b.memoryBytes - a.memoryBytes)
    .slice(0, mostTried);
  const helps = (chosen: LetIn['members']) =>
    fits(opened(new Set(chosen.map(({ address }) => address)), members, settings, build));
  const help = (chosen: LetIn['members']): LetIn => ({ kind: 'LetIn', members: chosen, build: build ?? '' });
  if (kept.length === 0 || !helps(kept)) return [];
  const alone = kept.filter((each) => helps([each]));
  if (alone.length > 0) return alone.map((each) => help([each]));
  let count = 2;
  while (count < kept.length && !helps(kept.slice(0, count))) count += 1;
  return [help(kept.slice(0, count))];
}

function isOpenable(kind: string): kind is OpenableGate {
  return ['Paused', 'Stale', 'Excluded', 'BuildMismatch', 'NotDataPlaneReachable'].includes(kind);
}

/** The room with every gate open for these members. */
function opened(
  chosen: ReadonlySet<string>,
  members: readonly Member[],
  settings: Settings,
  build: string | null,
): Change {
  const { excluded, members: wanted, links } = settings;
  return {
    members: members.map((member) =>
      chosen.has(member.address)
        ? { ...member, paused: false, stale: false, reachability: 'Direct', build: build ?? member.build }
        : member,
    ),
    settings: {
      excluded: excluded.filter((address) => !chosen.has(address)),
      members: wanted === null ? null : [...new Set([...wanted, ...chosen])],
      links: links.map((link) =>
        (chosen.has(link.from) || chosen.has(link.to)) && !carriesActivations(link.reachability ?? 'Direct')
          ? { ...link, reachability: 'Direct' }
          : link,
      ),
    },
  };
}

const steps: Record<OpenableGate, (who: string, build: string) => string> = {
  Paused: (who) => `resuming sharing on ${who}`,
  Stale: (who) => `waking ${who} or mending its network`,
  Excluded: (who) => `letting ${who} take part`,
  BuildMismatch: (who, build) => `bringing ${who} to build ${build}`,
  NotDataPlaneReachable: (who) => `a direct connection to ${who}`,
};

/** What to do to let these in, for people, as a sentence. */
export function letInText({ members, build }: LetIn, nameOf: (address: string) => string): string {
  const all = members.map(({ address, gate, memoryBytes }) =>
    steps[gate](`${nameOf(address)} (${formatBytes(memoryBytes)})`, build),
  );
  const last = all.pop() ?? '';
  const text = all.length === 0 ? last : `${all.join(', ')} and ${last}, together,`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} would do.`;
}
