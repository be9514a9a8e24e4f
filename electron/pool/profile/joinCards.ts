import type { GpuReading } from '../sensors/gpuReading.ts';
import { isSoftware } from './isSoftware.ts';
import type { DeviceFacts } from './profile.ts';

/**
 * What the drivers say of devices: the card with the same PCI address. A device without an address (Metal, some Vulkan
 * drivers) gets the one card that no other device has, when there is exactly one of each. Never joined by number or name:
 * backends, drivers and environment variables order and hide cards differently, and two may be alike.
 */
export function joinCards<D extends { pciAddress: string | null }>(
  devices: readonly D[],
  cards: readonly GpuReading[],
): Map<D, GpuReading> {
  const joined = new Map<D, GpuReading>();
  for (const device of devices) {
    const card = cards.find(({ pciAddress }) => pciAddress !== null && pciAddress === device.pciAddress);
    if (card !== undefined) joined.set(device, card);
  }
  const taken = [...joined.values()];
  const [card, ...moreCards] = cards.filter((one) => !taken.includes(one));
  const [device, ...moreDevices] = devices.filter(({ pciAddress }) => pciAddress === null);
  if (card !== undefined && device !== undefined && moreCards.length + moreDevices.length === 0) {
    joined.set(device, card);
  }
  return joined;
}

/** The cards on which stages compute. */
export function cardsThatShare(devices: readonly DeviceFacts[], cards: readonly GpuReading[]): GpuReading[] {
  const onCards = devices.filter((device) => device.deviceClass !== 'cpu' && !isSoftware(device));
  return [...joinCards(onCards, cards)].flatMap(([{ shares }, card]) => (shares ? [card] : []));
}
