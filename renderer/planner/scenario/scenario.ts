import type { Backend } from '../../../electron/planner/backend.ts';
import type { Force, KvType, Link, PlainRam, Policy } from '../../../electron/planner/planOptions.ts';
import type { ModelChoice } from './modelChoice.ts';

/** A machine of the playground, that exists or is imagined. Sizes in bytes, speeds in bytes per second. */
export interface RoomMember {
  /** The planner's address of it. */
  id: string;
  name: string;
  /** Whether it stands for a member of this pool. */
  real: boolean;
  /** Whether the plan may use it. */
  included: boolean;
  backend: Backend;
  memoryBytes: number;
  /** Plain RAM that it lends besides its graphics card. */
  hostMemoryBytes: number;
  /** Null leaves the speed to the planner's estimate. */
  bandwidth: number | null;
  /** What its own network adds to every round trip, in milliseconds. */
  addedMs: number;
  build: string;
}

/** What one asks the planner. */
export interface Question {
  members: readonly RoomMember[];
  /** Who leads the pool that the members come from; null leaves it to the planner, as for a room that is imagined. */
  coordinator: string | null;
  /** Measured links; every other pair is as the network says. */
  links: readonly Link[];
  network: { rttMs: number; bytesPerSecond: number };
  model: ModelChoice;
  /** Tokens of one request. */
  context: number;
  slots: number;
  kvType: KvType;
  policy: Policy;
  force: Force | null;
  /** Null leaves the number of pipelines to the planner. */
  replicas: number | null;
  plainRam: PlainRam;
}

export interface Position {
  x: number;
  y: number;
}

/** A question, and where its members stand on the table: all that is shared, undone and compared. */
export interface Scenario {
  question: Question;
  positions: Readonly<Record<string, Position>>;
}

/** The build of imagined members in a room without real ones. */
export const IMAGINED_BUILD = 'imagined';

const gigabytes = (count: number) => count * 1e9;

/** A machine of the usual kind. */
export function imaginedMember(id: string, name: string, changes: Partial<RoomMember> = {}): RoomMember {
  return {
    id,
    name,
    real: false,
    included: true,
    backend: 'Cuda',
    memoryBytes: gigabytes(24),
    hostMemoryBytes: 0,
    bandwidth: null,
    addedMs: 0,
    build: IMAGINED_BUILD,
    ...changes,
  };
}

/** The room that one finds before there is a pool. */
export function exampleScenario(): Scenario {
  return {
    question: {
      members: [
        imaginedMember('m1', 'gaming-laptop', { memoryBytes: gigabytes(16) }),
        imaginedMember('m2', 'macbook', { backend: 'Metal', memoryBytes: gigabytes(48) }),
        imaginedMember('m3', 'workstation', { memoryBytes: gigabytes(24), hostMemoryBytes: gigabytes(64) }),
        imaginedMember('m4', 'office-pc', { backend: 'Cpu', memoryBytes: gigabytes(32) }),
      ],
      coordinator: null,
      links: [],
      network: { rttMs: 0.5, bytesPerSecond: 117e6 },
      model: { kind: 'known', id: 'llama-3.3-70b-instruct-q4_k_m' },
      context: 4096,
      slots: 4,
      kvType: 'f16',
      policy: 'hop-minimal',
      force: null,
      replicas: null,
      plainRam: 'last-resort',
    },
    positions: {},
  };
}
