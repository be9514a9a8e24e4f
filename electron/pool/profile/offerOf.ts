import type { DeviceFacts } from './profile.ts';

/** Plain RAM that stays the owner's: a fraction of all, and at least this. */
const KEPT_FRACTION = 1 / 8;
const KEPT_BYTES = 2 * 2 ** 30;
/** Free memory comes and goes with every program; an offer is changed only for more than this part of it. */
const STEADY_FRACTION = 0.05;

/** What a member lends, bytes. */
export interface Offer {
  /** Of the devices on which stages compute, at least 1. */
  memoryBytes: number;
  /** Plain RAM besides a card; null where stages compute in RAM anyway. */
  hostMemoryBytes: number | null;
}

/**
 * What is lent of these devices: `wanted` bytes where the owner has set an amount, up to all that there is; otherwise what
 * is free on a card, and of RAM what is available beyond the owner's part. `before` is kept where little has changed.
 */
export function offerOf(devices: readonly DeviceFacts[], wanted: number | null, before: Offer | null = null): Offer {
  const shared = devices.filter(({ shares }) => shares);
  const ram = devices.find(({ deviceClass }) => deviceClass === 'cpu');
  const ramTotal = ram?.totalBytes ?? 0;
  const lendable = Math.max(0, (ram?.freeBytes ?? 0) - Math.max(KEPT_BYTES, ramTotal * KEPT_FRACTION));
  const onCard = shared.every(({ deviceClass }) => deviceClass === 'gpu');
  const sum = (field: 'totalBytes' | 'freeBytes') => shared.reduce((total, device) => total + device[field], 0);
  const most = onCard ? sum('totalBytes') : Math.min(sum('totalBytes'), ramTotal);
  const offered = wanted ?? (onCard ? sum('freeBytes') : Math.min(sum('freeBytes'), lendable));
  const memoryBytes = Math.max(1, Math.floor(Math.min(offered, most)));
  const hostMemoryBytes = onCard ? Math.floor(lendable) : null;
  return {
    memoryBytes: wanted === null ? steady(memoryBytes, before?.memoryBytes) : memoryBytes,
    hostMemoryBytes: hostMemoryBytes === null ? null : steady(hostMemoryBytes, before?.hostMemoryBytes),
  };
}

function steady(now: number, before: number | null | undefined): number {
  return typeof before === 'number' && Math.abs(now - before) <= before * STEADY_FRACTION ? before : now;
}
