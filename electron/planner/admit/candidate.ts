import type { RangeCosts } from '../costs/rangeCosts.ts';
import type { Settings } from '../costs/settings.ts';
import { type DeviceClass, deviceClassOf, type Member } from '../member.ts';

/** A member as the packing sees it: how many bytes of stages it takes, and how fast it reads them. */
export interface Candidate {
  member: Member;
  address: string;
  deviceClass: DeviceClass;
  /** Bytes for stages in the memory that it shares, after headroom, draft and engine host. */
  deviceBytes: number;
  /** The same with the plain RAM that may be used besides. */
  capacity: number;
  /** Bytes that it needs beside stages and headroom: for leading, on a CPU for attention, and what was measured beside. */
  besideBytes: number;
  /** Bytes per second. */
  speed: number;
  hostSpeed: number;
  /** Operations per second. */
  flops: number;
  /** Whether the speed was seen on a running stage, and then arithmetic and plain RAM are part of it. */
  isMeasured: boolean;
  /** Equal for members that are alike in all of that. */
  kind: string;
}

/** Bytes per second where nobody measured: a middling machine of the class. */
const assumedSpeed: Record<DeviceClass, number> = { gpu: 400e9, unified: 200e9, cpu: 40e9 };
/** Operations for each byte that a device can read, where nobody measured: what llama.cpp reaches on prompts. */
const assumedOperationsPerByte: Record<DeviceClass, number> = { gpu: 80, unified: 40, cpu: 10 };

export interface Role {
  leads: boolean;
  /** Whether plain RAM of members with a GPU counts. */
  plainRam: boolean;
}

/** Works out what a member offers to stages. */
export function candidateOf(member: Member, costs: RangeCosts, settings: Settings, role: Role): Candidate {
  const deviceClass = deviceClassOf(member);
  const headroom = member.headroomBytes ?? Math.ceil(member.memoryBytes * settings.headroom);
  const leadingBytes = role.leads ? coordinatorBytes(deviceClass, settings) : 0;
  // What was measured may say that the buffers are smaller, never that weights take nothing.
  const besideBytes = Math.max(0, leadingBytes + attentionBytes(deviceClass, costs) + (member.stageExtraBytes ?? 0));
  const deviceBytes = Math.max(0, member.memoryBytes - headroom - besideBytes);
  const spare = role.plainRam && deviceClass !== 'cpu' ? (member.hostMemoryBytes ?? 0) : 0;
  const measured = measuredSpeed(member, costs, settings);
  const learnt = member.bandwidth === undefined || measured !== null ? 1 : (member.stageSpeed ?? 1);
  const speed = (measured ?? member.bandwidth ?? assumedSpeed[deviceClass]) * learnt;
  const capacity = deviceBytes + Math.floor(spare * (1 - settings.headroom));
  // A stage's time is one number: what it says of the bandwidth it says of plain RAM and of arithmetic too.
  const hostSpeed = (measured ?? member.hostBandwidth ?? assumedSpeed.cpu) * learnt;
  const flops = member.flops === undefined ? speed * assumedOperationsPerByte[deviceClass] : member.flops * learnt;
  const isMeasured = measured !== null;
  return {
    member,
    address: member.address,
    deviceClass,
    deviceBytes,
    capacity,
    besideBytes,
    speed,
    hostSpeed,
    flops,
    isMeasured,
    kind: [deviceClass, deviceBytes, capacity, speed, hostSpeed, flops, isMeasured].join(' '),
  };
}

/** Bytes that leading a pipeline takes: the draft model, and the engine host where it shares the same memory. */
export function coordinatorBytes(
  deviceClass: DeviceClass,
  settings: Pick<Settings, 'draft' | 'engineHostBytes'>,
): number {
  return settings.draft.bytes + (deviceClass === 'gpu' ? 0 : settings.engineHostBytes);
}

/** Bytes that attention takes on a CPU beside what it takes on a device. */
export function attentionBytes(deviceClass: DeviceClass, costs: Pick<RangeCosts, 'plainAttentionBytes'>): number {
  return deviceClass === 'cpu' ? costs.plainAttentionBytes : 0;
}

/** The memory that a member must share so that a stage of `bytes` fits beside headroom and what else it needs. */
export function offerFor(bytes: number, candidate: Candidate | null, headroom: number): number {
  const fixed = candidate?.member.headroomBytes;
  const wanted = bytes + (candidate?.besideBytes ?? 0);
  if (fixed !== undefined) return Math.ceil(wanted + fixed);
  const offer = Math.ceil(wanted / (1 - headroom));
  // The headroom is rounded up, which may cost the last byte.
  return offer - Math.ceil(offer * headroom) >= wanted ? offer : offer + 1;
}

/** The speed at which a running stage has read its bytes, null where none was measured. */
function measuredSpeed(member: Member, costs: RangeCosts, settings: Settings): number | null {
  const stage = settings.measured.find(({ address }) => address === member.address);
  if (stage === undefined) return null;
  return (costs.read(stage.startLayer, stage.endLayer, 1) / stage.ms) * 1000;
}

/** Most memory first, then the lower address: how every tie is decided. */
export function byMemory(a: Candidate, b: Candidate): number {
  return b.capacity - a.capacity || compareText(a.address, b.address);
}

/** Fastest first, then most memory, then the lower address: the order in which members are filled. */
export function byStrength(a: Candidate, b: Candidate): number {
  return b.speed - a.speed || byMemory(a, b);
}

/** The addresses as one text that no others have, whatever characters are in them. */
export function nameOfAll(addresses: readonly string[]): string {
  return addresses.map((address) => `${address.length}:${address}`).join(' ');
}

/** Compares by code units, so that no locale decides. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
