import { InvalidInput } from '../../../electron/planner/invalidInput.ts';
import type { Member } from '../../../electron/planner/member.ts';
import { type Plan, plan } from '../../../electron/planner/plan.ts';
import type { Link, PlanOptions } from '../../../electron/planner/planOptions.ts';
import { type ModelChoice, shapeOf } from './modelChoice.ts';
import type { Question, RoomMember } from './scenario.ts';

/** What the planner says to a question: a plan, or one line on what it cannot reason about. */
export type Answer = { plan: Plan; problem: null } | { plan: null; problem: string };

const answers = new WeakMap<Question, Answer>();

/** Runs the planner; the same question is worked out once. */
export function answerTo(question: Question): Answer {
  const known = answers.get(question);
  if (known !== undefined) return known;
  const answer = work(question);
  answers.set(question, answer);
  return answer;
}

function work(question: Question): Answer {
  const model = shapeOf(question.model);
  if (model === null) return { plan: null, problem: 'This version of Roomful does not know that model.' };
  try {
    return {
      plan: plan(
        question.members.map((each) => plannerMember(each, question.model)),
        model,
        plannerOptions(question),
      ),
      problem: null,
    };
  } catch (cause) {
    if (!(cause instanceof InvalidInput)) throw cause;
    return { plan: null, problem: `The planner cannot work with this: ${cause.message}.` };
  }
}

function plannerMember(
  { id, name, real, backend, memoryBytes, hostMemoryBytes, bandwidth, build }: RoomMember,
  choice: ModelChoice,
): Member {
  const speeds = real && choice.kind === 'library' ? choice.speeds : undefined;
  return {
    address: id,
    name,
    backend,
    memoryBytes: Math.max(1, memoryBytes),
    hostMemoryBytes,
    bandwidth: bandwidth ?? undefined,
    stageSpeed: speeds?.[id],
    build,
  };
}

function plannerOptions(question: Question): PlanOptions {
  const { members, context, slots, kvType, policy, force, replicas, plainRam } = question;
  return {
    contextLength: context * slots,
    slots,
    kvType,
    policy,
    force: force ?? undefined,
    replicas: replicas ?? undefined,
    plainRam,
    excluded: members.filter(({ included }) => !included).map(({ id }) => id),
    links: linksOf(question),
    coordinator: leaderOf(question),
  };
}

/** One that is not on the table any more, or takes no part, leads nothing. */
function leaderOf({ members, coordinator }: Question): string | undefined {
  return members.find(({ id, included }) => included && id === coordinator)?.id;
}

let lastLinks: { of: Pick<Question, 'members' | 'links' | 'network'>; links: Link[] } | null = null;

/** The links of a room; those of the last one where nothing that they are made of has changed, as while memory is dragged. */
function linksOf(of: Question): Link[] {
  if (lastLinks === null || !sameWays(lastLinks.of, of)) lastLinks = { of, links: newLinks(of) };
  return lastLinks.links;
}

function sameWays(a: Pick<Question, 'members' | 'links' | 'network'>, b: Question): boolean {
  return (
    a.links === b.links &&
    a.network === b.network &&
    a.members.length === b.members.length &&
    a.members.every(({ id, addedMs }, index) => id === b.members[index]?.id && addedMs === b.members[index]?.addedMs)
  );
}

/** Measured links as they are, and one for every other pair from the room's network. */
function newLinks({ members, links, network }: Question): Link[] {
  const measured = new Map(links.map((link) => [`${link.from} ${link.to}`, link]));
  return members.flatMap((from) =>
    members.flatMap((to): Link[] => {
      if (from === to) return [];
      const own = measured.get(`${from.id} ${to.id}`);
      const addedMs = from.addedMs + to.addedMs;
      return [
        {
          from: from.id,
          to: to.id,
          rttMs: (own?.rttMs ?? network.rttMs) + addedMs,
          bytesPerSecond: own?.bytesPerSecond ?? network.bytesPerSecond,
          reachability: own?.reachability,
        },
      ];
    }),
  );
}
