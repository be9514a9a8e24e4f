import { readFile } from 'node:fs/promises';
import type { PoolMember } from '../pool/poolMember.ts';
import { readMachineMemory } from '../pool/sensors/readMachineMemory.ts';
import type { DoctorReport, PoolStatus } from './memberApi.ts';

export interface DoctorSources {
  pool: PoolMember;
  status: PoolStatus;
  build: string;
  wireVersion: number;
  logFile: string;
}

const LOG_LINES = 100;

/** Collects what a bug report needs. Certificates, keys, tokens and prompts are in none of its sources. */
export async function doctorReport({
  pool,
  status,
  build,
  wireVersion,
  logFile,
}: DoctorSources): Promise<DoctorReport> {
  const { pool: place, removal } = pool.trust;
  const { usable, skipped } = pool.cards();
  const multicast = pool.multicast();
  const log = await readFile(logFile, 'utf8');
  return {
    problems: problemsOf(pool, status),
    versions: { build, wireVersion, node: process.version, platform: `${process.platform} ${process.arch}` },
    status,
    members: pool.members(),
    roster:
      place === null
        ? null
        : { version: place.version, admin: place.admin, certificateUntilMs: place.certificateUntilMs },
    removed: removal === null ? null : { poolName: removal.poolName, atMs: removal.atMs },
    network: {
      addresses: pool.addresses(),
      cards: [usable, skipped].flatMap((cards) =>
        cards.map(({ name, medium, addresses }) => ({
          name,
          medium,
          usable: cards === usable,
          addresses: addresses.map(({ cidr }) => cidr),
        })),
      ),
      multicast,
    },
    memory: await readMemory(),
    log: log.trimEnd().split('\n').slice(-LOG_LINES),
  };
}

async function readMemory(): Promise<DoctorReport['memory']> {
  const { totalBytes, availableBytes } = await readMachineMemory();
  return { totalBytes, freeBytes: availableBytes };
}

function problemsOf(pool: PoolMember, status: PoolStatus): string[] {
  const problems: string[] = [];
  const { removal } = pool.trust;
  if (status.pool === null && removal !== null) {
    problems.push(`This machine was removed from the pool ${removal.poolName}. Ask one of its admins for an invite.`);
  }
  if (pool.addresses().length === 0) {
    problems.push('No network card of this machine leads to a LAN. Connect it to the network.');
  }
  const multicast = pool.multicast();
  if (multicast !== null && multicast.remedy !== null) problems.push(`${multicast.message} ${multicast.remedy}`);
  if (status.pool !== null && status.coordinator === null)
    problems.push('No member leads the pool yet. Wait a moment.');
  for (const { name, state, reject } of status.members) {
    if (state === 'lost') problems.push(`${name} does not answer. See whether it runs and is on this network.`);
    if (reject !== null) problems.push(`${name} has another build than the leader. Update it to take part.`);
  }
  return problems;
}
