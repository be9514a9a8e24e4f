import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dataFolder } from '../pool/dataFolder.ts';
import { makeDataFolder } from '../pool/makeDataFolder.ts';

/** A data folder for one run of the demo. Those that killed runs have left behind are removed first. */
export function createDemoHome(): { path: string; remove(): void } {
  const parent = join(dataFolder(), 'demo');
  makeDataFolder(parent);
  for (const name of readdirSync(parent)) {
    const owner = /^run-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const path = mkdtempSync(join(parent, `run-${process.pid}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM';
  }
}
