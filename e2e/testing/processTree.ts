import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  pid: number;
  parent: number;
  command: string;
}

/** Every process of this machine (Linux). Those that are gone but not yet waited for do not count. */
function allProcesses(): ProcessEntry[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || state === 'X') return [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return [{ pid: Number(name), parent: Number(parent), command }];
    } catch {
      return [];
    }
  });
}

/** A process and everything below it, parents first. */
export function processTree(root: number): ProcessEntry[] {
  const all = allProcesses();
  const tree = all.filter(({ pid }) => pid === root);
  for (let index = 0; index < tree.length; index += 1) {
    tree.push(...all.filter(({ parent }) => parent === tree[index]?.pid));
  }
  return tree;
}

/** Those of the given processes that still run. */
export function stillRunning(processes: readonly ProcessEntry[]): ProcessEntry[] {
  const all = new Map(allProcesses().map((entry) => [entry.pid, entry]));
  return processes.filter(({ pid, command }) => all.get(pid)?.command === command);
}

/** Every process that names a path in its command line. */
export function processesOf(path: string): ProcessEntry[] {
  return allProcesses().filter(({ command }) => command.includes(path));
}
