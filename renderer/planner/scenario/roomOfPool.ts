import type { PoolDevice, PoolMemberDetail } from '../../../electron/gateway/memberApi.ts';
import { backendOrCpu } from '../../../electron/planner/backend.ts';
import type { Link } from '../../../electron/planner/planOptions.ts';
import { IMAGINED_BUILD, type Question, type RoomMember } from './scenario.ts';

/** Where nothing was measured and nobody shares yet. */
const LEAST_BYTES = 1e9;

/** The members of a pool as the planner counts them, who leads them, and the links that this member has measured. */
export function roomOfPool(pool: readonly PoolMemberDetail[]): Pick<Question, 'members' | 'links' | 'coordinator'> {
  const present = pool.filter(({ state }) => state !== 'left');
  const own = present.find(({ self }) => self);
  const links = present.flatMap(({ id, link }): Link[] => {
    if (own === undefined || link === null) return [];
    const { rttMs, bytesPerSecond } = link;
    const speed = bytesPerSecond >= 1 ? { bytesPerSecond } : {};
    return [
      { from: own.id, to: id, rttMs, ...speed },
      { from: id, to: own.id, rttMs, ...speed },
    ];
  });
  return { members: present.map(roomMember), links, coordinator: present.find(({ leads }) => leads)?.id ?? null };
}

function roomMember({ id, name, state, shareBytes, devices, build, paused }: PoolMemberDetail): RoomMember {
  const device = strongest(devices);
  return {
    id,
    name,
    real: true,
    included: state === 'alive' && paused.length === 0,
    backend: device === undefined ? 'Cpu' : backendOrCpu(device.backend),
    memoryBytes: Math.max(shareBytes, LEAST_BYTES),
    hostMemoryBytes: 0,
    bandwidth: device?.bandwidth ?? null,
    addedMs: 0,
    build: build ?? IMAGINED_BUILD,
  };
}

function strongest(devices: readonly PoolDevice[]): PoolDevice | undefined {
  const sharing = devices.filter(({ shares }) => shares);
  return sharing.find(({ deviceClass }) => deviceClass !== 'cpu') ?? sharing[0];
}
