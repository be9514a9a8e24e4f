import type { Backend } from '../../planner/backend.ts';

/** What of speed is learnt for: kernels differ by how a model is quantised, and machines by all the rest. */
export interface SpeedKey {
  /** Content id of the model. */
  model: string;
  /** Id of the member, and so its devices. */
  member: string;
  backend: Backend;
}

/** A stage that has run: one token by the profile alone, and what it was measured to take, milliseconds. */
export interface SpeedObservation extends SpeedKey {
  /** Of the profile, bytes per second. */
  bandwidth: number;
  profileMs: number;
  measuredMs: number;
}

/** How fast stages have run, over what the profile made expect. */
export interface SpeedTruth extends SpeedKey {
  /** Of the profile beside which it was learnt, bytes per second. */
  bandwidth: number;
  ratio: number;
}

/** A member whose speed is asked for; without a bandwidth in its profile there is nothing to hold a measurement against. */
export interface Profiled {
  member: string;
  backend: Backend;
  bandwidth: number | undefined;
}

export function profiledOf(
  member: string,
  { backend, bandwidth }: { backend: Backend; bandwidth?: number | undefined },
): Profiled {
  return { member, backend, bandwidth };
}

/** Beyond these a measurement is none of the memory: something else was the matter. */
export const LEAST_RATIO = 1 / 20;
export const MOST_RATIO = 20;

/** A profile that differs by a larger part is another one, and what was learnt beside the old one is forgotten. */
const SAME_BANDWIDTH = 0.1;

/** So many are kept, the newest. */
const MOST_TRUTHS = 256;

/** What is known after one more look at a stage that runs; the very same where nothing is new. Pure; the newest come last. */
export function learnSpeed(known: readonly SpeedTruth[], seen: SpeedObservation): readonly SpeedTruth[] {
  const { model, member, backend, bandwidth } = seen;
  const ratio = seen.profileMs / seen.measuredMs;
  if (!(bandwidth > 0 && ratio >= LEAST_RATIO && ratio <= MOST_RATIO)) return known;
  const before = speedOf(known, seen);
  if (before?.ratio === ratio && before.bandwidth === bandwidth) return known;
  return [...known.filter((each) => each !== before), { model, member, backend, bandwidth, ratio }].slice(-MOST_TRUTHS);
}

/** What is known of a model on a member, whatever its profile says now. */
export function speedOf(known: readonly SpeedTruth[], { model, member, backend }: SpeedKey): SpeedTruth | undefined {
  return known.find((each) => each.model === model && each.member === member && each.backend === backend);
}

/**
 * How fast stages of a model are expected to run on these members, over what their profiles say: as measured there; else the
 * geometric mean of what was measured of that model elsewhere, on the same backend where there is such; else 1. Depends
 * neither on the order of the members nor on that in which they were learnt.
 */
export function speedsOf(known: readonly SpeedTruth[], model: string, room: readonly Profiled[]): Map<string, number> {
  const there = new Map(room.map((each) => [each.member, each]));
  const standing = known.filter((truth) => {
    const now = there.get(truth.member);
    return truth.model === model && (now === undefined || standsBeside(truth, now));
  });
  const meanOf = (backend: Backend): number => {
    const alike = standing.filter((truth) => truth.backend === backend);
    return mean((alike.length > 0 ? alike : standing).map(({ ratio }) => ratio));
  };
  return new Map(
    room.map(({ member, backend, bandwidth }) => {
      const own = standing.find((truth) => truth.member === member);
      return [member, bandwidth === undefined ? 1 : (own?.ratio ?? meanOf(backend))];
    }),
  );
}

/** Whether a profile is still the one that something was learnt beside. */
export function standsBeside(
  learnt: Pick<SpeedTruth, 'backend' | 'bandwidth'>,
  { backend, bandwidth }: Omit<Profiled, 'member'>,
): boolean {
  if (bandwidth === undefined || backend !== learnt.backend) return false;
  return Math.abs(bandwidth / learnt.bandwidth - 1) <= SAME_BANDWIDTH;
}

function mean(ratios: readonly number[]): number {
  if (ratios.length === 0) return 1;
  // In one order, since sums of fractions depend on it.
  const logs = ratios.map(Math.log).sort((a, b) => a - b);
  const ratio = Math.exp(logs.reduce((sum, log) => sum + log, 0) / ratios.length);
  return Math.min(MOST_RATIO, Math.max(LEAST_RATIO, ratio));
}
