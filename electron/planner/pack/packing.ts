import type { Candidate } from '../admit/candidate.ts';
import type { Links } from '../admit/links.ts';
import type { RangeCosts } from '../costs/rangeCosts.ts';
import type { ReachOf } from '../costs/reach.ts';
import type { Cover } from './cover.ts';
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
  /** What teams of a kind serve, as far as it was worked out. */
  served: Map<string, Throughput>;
  /** Sets that were found to hold the model where everyone may stand anywhere, by their memory. */
  covers: Map<string, readonly Cover[]>;
  /** Chains that were cut already, by their members. */
  splits: Map<string, Stage[] | null>;
  /** The only order in which stages may stand, null for any. */
  fixedOrder: readonly string[] | null;
}
