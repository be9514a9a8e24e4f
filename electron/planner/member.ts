import type { Backend } from './backend.ts';

/** Where a member's shared memory lies: on a graphics card, in memory that GPU and CPU share, or in plain RAM. */
export type DeviceClass = 'gpu' | 'unified' | 'cpu';

export const deviceClasses: readonly DeviceClass[] = ['gpu', 'unified', 'cpu'];

/** How a member was reached by a dial. Only the first two may carry activations. */
export type Reachability = 'LocalDirect' | 'Direct' | 'RelayOnly' | 'SymmetricNat';

export const reachabilities: readonly Reachability[] = ['LocalDirect', 'Direct', 'RelayOnly', 'SymmetricNat'];

/** What the planner needs to know of one machine. Sizes in bytes, speeds in bytes per second. */
export interface Member {
  /** Unique in the room; decides ties. */
  address: string;
  /** For people; the address where left out. */
  name?: string | undefined;
  backend: Backend;
  /** Follows from the backend where left out: Metal is unified, Cpu is cpu, everything else a graphics card. */
  deviceClass?: DeviceClass | undefined;
  /** Memory shared with the pool: of the card, unified, or plain RAM of a CPU member. */
  memoryBytes: number;
  /** Plain RAM that a member with a card lends besides. Used only where plain RAM is. */
  hostMemoryBytes?: number | undefined;
  /** Measured speed at which weights are read; an estimate by device class where left out. */
  bandwidth?: number | undefined;
  /** The same for `hostMemoryBytes`. */
  hostBandwidth?: number | undefined;
  /** Floating-point operations per second that prompts reach; an estimate from the bandwidth where left out. */
  flops?: number | undefined;
  /** Kept free on this member, instead of the fraction in the options. */
  headroomBytes?: number | undefined;
  /** What stages of this model have taken there beside the estimate; negative for less. Default 0. */
  stageExtraBytes?: number | undefined;
  /** How fast stages of this model have run there, over what `bandwidth` makes expect; without that it says nothing. Default 1. */
  stageSpeed?: number | undefined;
  /** llama.cpp commit that the member runs. */
  build: string;
  /** How others reach it where no link says otherwise; 'LocalDirect' where left out. */
  reachability?: Reachability | undefined;
  paused?: boolean | undefined;
  /** Not heard of lately, so its numbers may be wrong. */
  stale?: boolean | undefined;
}

/** The class that the member says, else the one of its backend. */
export function deviceClassOf(member: Pick<Member, 'backend' | 'deviceClass'>): DeviceClass {
  if (member.deviceClass !== undefined) return member.deviceClass;
  if (member.backend === 'Cpu') return 'cpu';
  return member.backend === 'Metal' ? 'unified' : 'gpu';
}

/** Whether activations may travel over a connection of this kind. */
export function carriesActivations(reachability: Reachability): boolean {
  return reachability === 'LocalDirect' || reachability === 'Direct';
}
