import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** How often the parents are looked for, ms. */
const INTERVAL_MS = 250;

/**
 * Calls `onOrphaned` once when the process that started this one is gone, so that killing `npm` or a shell script that
 * runs the demo ends the demo too. npm runs scripts through a shell, so there the shell's own parent is watched as well.
 * Holds nothing open.
 */
export function exitWithParent(onOrphaned: () => void): void {
  const parent = process.ppid;
  const throughNpm = process.env.npm_lifecycle_event !== undefined && process.platform !== 'win32';
  const grandparent = throughNpm ? parentOf(parent) : null;
  const timer = setInterval(() => {
    if (process.ppid === parent && (grandparent === null || stillChild(parent, grandparent))) return;
    clearInterval(timer);
    onOrphaned();
  }, INTERVAL_MS);
  timer.unref();
}

/** Asking `ps` four times a second is too dear, so elsewhere than on Linux the parent's own life is looked at. */
function stillChild(pid: number, parent: number): boolean {
  if (process.platform === 'linux') return parentOf(pid) === parent;
  try {
    process.kill(parent, 0);
    return true;
  } catch {
    return false;
  }
}

function parentOf(pid: number): number | null {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The name in parentheses may hold anything; the state and the parent follow it.
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    } catch {
      return null;
    }
  }
  const { stdout } = spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' });
  return Number(stdout.trim()) || null;
}
