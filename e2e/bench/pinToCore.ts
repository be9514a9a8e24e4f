import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';

/** Keeps every thread of a process on one core; does nothing where there is no `taskset`. */
export function pinToCore(pid: number, core: number): void {
  spawnSync('taskset', ['-acp', String(core % cpus().length), String(pid)], { stdio: 'ignore' });
}
