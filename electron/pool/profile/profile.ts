import { z } from 'zod';
import { backends } from '../../planner/backend.ts';
import { deviceClasses, type Member } from '../../planner/member.ts';
import { manners } from '../manners/manner.ts';

const bytes = z.number().int().nonnegative();
const bytesPerSecond = z.number().positive();

const deviceFactsSchema = z.object({
  /** As ggml calls it: `CUDA0`, `Vulkan1`, `CPU`. */
  name: z.string(),
  description: z.string(),
  backend: z.enum(backends),
  /** Lower-case PCI address; null where it has none. */
  pciAddress: z.string().nullable(),
  /** Where its memory lies: on a card, in RAM that it shares with the CPU, or in plain RAM. */
  deviceClass: z.enum(deviceClasses),
  totalBytes: bytes,
  /** Free when it was last looked at; on the CPU and in shared RAM what programs could take. */
  freeBytes: bytes,
  /** Whether stages compute on it. */
  shares: z.boolean(),
  /** Measured speed at which it reads weights, bytes per second; null until it has been measured. */
  bandwidth: bytesPerSecond.nullable(),
});
/** One device of a member. */
export type DeviceFacts = z.infer<typeof deviceFactsSchema>;

const pauseReasonSchema = z.enum(['owner', ...manners]);
/** Why a member shares nothing now: its owner says so, or one of its manners. */
export type PauseReason = z.infer<typeof pauseReasonSchema>;

/** What a member tells the others of its machine; sizes in bytes, speeds in bytes per second. */
export const profileSchema = z.object({
  backend: z.enum(backends),
  deviceClass: z.enum(deviceClasses),
  /** Memory that it shares, of the devices on which stages compute; at least 1. */
  memoryBytes: bytes.min(1),
  /** Plain RAM that a member with a graphics card lends besides; null for others. */
  hostMemoryBytes: bytes.nullable(),
  /** Of the devices on which stages compute, taken together; null until they have been measured. */
  bandwidth: bytesPerSecond.nullable(),
  /** Of `hostMemoryBytes`. */
  hostBandwidth: bytesPerSecond.nullable(),
  devices: z.array(deviceFactsSchema),
  /** Empty while it shares. */
  paused: z.array(pauseReasonSchema),
});
export type Profile = z.infer<typeof profileSchema>;

/** The part of the planner's Member that a profile knows. */
export function plannerFacts(
  profile: Profile,
): Pick<
  Member,
  'backend' | 'deviceClass' | 'memoryBytes' | 'hostMemoryBytes' | 'bandwidth' | 'hostBandwidth' | 'paused'
> {
  return {
    backend: profile.backend,
    deviceClass: profile.deviceClass,
    memoryBytes: profile.memoryBytes,
    hostMemoryBytes: profile.hostMemoryBytes ?? undefined,
    bandwidth: profile.bandwidth ?? undefined,
    hostBandwidth: profile.hostBandwidth ?? undefined,
    paused: profile.paused.length > 0,
  };
}
