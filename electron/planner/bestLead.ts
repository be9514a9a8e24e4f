import type { Lead } from './admit/lead.ts';
import type { Assignment } from './assign.ts';
import type { Stage } from './pack/packing.ts';
import { isSooner, type Throughput, throughputOf } from './pack/throughput.ts';

/** A build, and who may lead the members that run it. */
export interface BuildChoice {
  referenceCommit: string | null;
  /** The one to prefer first. */
  leaders: readonly (string | null)[];
  /** Stages that are needed at least, whoever leads; infinite where the memory is too small. */
  fewest: number;
  /** Milliseconds that a token takes at least on so few stages under a leader: at a glance, and looked at closely. */
  glanceMs: (leader: string | null) => number;
  floorMs: (leader: string | null) => number;
}

/** What an attempt has to reach. */
export interface Aim {
  /** The most pipelines of use. */
  pipelines: number;
  /** A first pipeline that has no more hops and is no slower; null for any. */
  first: Throughput | null;
  /** More tokens per second of all slots than this. */
  ofMany: number;
  /** The first pipeline, where it was found before. */
  begun?: Stage[] | undefined;
}

/** What a lead makes of the room; without pipelines where it does not reach the aim. */
export type Attempt = (lead: Lead, aim: Aim) => Assignment;

/** Any plan will do. */
export const anyPlan: Aim = { pipelines: Number.POSITIVE_INFINITY, first: null, ofMany: 0 };

/**
 * Of all builds and leaders those under which the first pipeline has the fewest hops, of these the ones under which it is
 * soonest, and of these the first that serves most at once, or the first of all where `comparesReplicas` is false. Null
 * where the model fits under none.
 */
export function bestLead(
  builds: readonly BuildChoice[],
  attempt: Attempt,
  comparesReplicas: boolean,
): Assignment | null {
  let first: Throughput | null = null;
  const tied: { lead: Lead; begun: Stage[]; reached: Throughput; place: number }[] = [];
  for (const { lead, fewest, glanceMs, floorMs, place } of promisingFirst(builds)) {
    const isHopeless = (ms: number) =>
      first !== null && isSooner(first, { stages: fewest, ofOne: 1000 / ms, ofMany: Number.POSITIVE_INFINITY });
    if (first !== null && (isHopeless(glanceMs) || isHopeless(floorMs(lead.coordinator)))) continue;
    const { pipelines, packing } = attempt(lead, { pipelines: 1, first, ofMany: 0 });
    const [begun] = pipelines;
    if (begun === undefined) continue;
    const reached = throughputOf(pipelines, packing);
    tied.push({ lead, begun, reached, place });
    if (first === null || isSooner(reached, first)) first = reached;
  }

  let best: Assignment | null = null;
  let ofMany = 0;
  for (const { lead, begun, reached } of tied.sort((a, b) => a.place - b.place)) {
    if (first !== null && isSooner(first, reached)) continue;
    const result = attempt(lead, { pipelines: Number.POSITIVE_INFINITY, first, ofMany, begun });
    if (result.pipelines.length === 0) continue;
    best = result;
    if (!comparesReplicas) return best;
    ({ ofMany } = throughputOf(result.pipelines, result.packing));
  }
  return best;
}

/** Those that may turn out best first, so that the others need not be tried; `place` is their place by preference. */
function promisingFirst(builds: readonly BuildChoice[]) {
  return builds
    .filter(({ fewest }) => Number.isFinite(fewest))
    .flatMap(({ referenceCommit, leaders, fewest, glanceMs, floorMs }) =>
      leaders.map((coordinator) => ({
        lead: { coordinator, referenceCommit },
        fewest,
        glanceMs: leaders.length * builds.length === 1 ? 0 : glanceMs(coordinator),
        floorMs,
      })),
    )
    .map((choice, place) => ({ ...choice, place }))
    .sort((a, b) => a.fewest - b.fewest || a.glanceMs - b.glanceMs || a.place - b.place);
}
