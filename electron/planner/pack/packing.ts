import type { Candidate } from '../admit/candidate.ts';
import type { Links } from '../admit/links.ts';
import type { RangeCosts } from '../costs/rangeCosts.ts';
import type { ReachOf } from '../costs/reach.ts';
import type { Covers } from './covers.ts';
import type { Ways } from './ring.ts';
import type { Throughput } from './throughput.ts';

/** A member and the layers [start, end) that it holds. */
export interface Stage {
  candidate: Candidate;
  start: number;
  end: number;
}

/** What all pipelines of one plan share. */
export interface Packing {
  costs: RangeCosts;
  reachOf: ReachOf;
  links: Links;
  /** Null where tokens come and go without a machine in between. */
  coordinator: string | null;
  /** Bytes of one token's activations. */
  activationBytes: number;
  /** Sequences at once. */
  slots: number;
  /** Whether tokens/s of many decide ties. The compact form knows no speeds: there the largest are filled first. */
  balances: boolean;
  /** Splits that are compared for each pipeline at most: infinite for the best, 1 where any will do. */
  patience: number;
  /** What teams of a kind serve, as far as it was worked out. */
  served: Map<string, Throughput>;
  /** Sets that hold the model, by their memory, and by who may follow whom where not everyone may. */
  covers: Map<string, Covers>;
  /** The ways between members, by their addresses. */
  ways: Map<string, Ways>;
  /** Chains that were cut already, by their members. */
  splits: Map<string, Stage[] | null>;
  /** The only order in which stages may stand, null for any. */
  fixedOrder: readonly string[] | null;
}
