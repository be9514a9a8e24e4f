import { type Offer, offerOf } from './offerOf.ts';
import type { DeviceFacts, PauseReason, Profile } from './profile.ts';

/** The profile of a machine with these devices, of which the owner shares `wanted` bytes, or what is free. */
export function profileOf(
  devices: readonly DeviceFacts[],
  wanted: number | null,
  paused: readonly PauseReason[],
  before: Offer | null,
): Profile {
  const shared = devices.filter(({ shares }) => shares);
  const [first] = shared;
  const offer = offerOf(devices, wanted, before);
  const cpu = devices.find(({ deviceClass }) => deviceClass === 'cpu');
  return {
    backend: first?.backend ?? 'Cpu',
    deviceClass: first?.deviceClass ?? 'cpu',
    ...offer,
    bandwidth: together(shared),
    hostBandwidth: offer.hostMemoryBytes === null ? null : (cpu?.bandwidth ?? null),
    devices: [...devices],
    paused: [...paused],
  };
}

/** Layers are dealt to devices by their memory and computed one after the other, so times add up, not speeds. */
function together(devices: readonly DeviceFacts[]): number | null {
  let bytes = 0;
  let seconds = 0;
  for (const { totalBytes, bandwidth } of devices) {
    if (bandwidth === null) return null;
    bytes += totalBytes;
    seconds += totalBytes / bandwidth;
  }
  return seconds > 0 ? bytes / seconds : null;
}
