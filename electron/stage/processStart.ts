import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * When a process started, as an opaque text that no other process of the same id has; null when there is no such process.
 * Linux: boot id and field 22 of /proc/PID/stat; elsewhere what `ps`, or PowerShell on Windows, reports.
 */
export async function processStart(pid: number): Promise<string | null> {
  try {
    if (process.platform === 'linux') return await linuxStart(pid);
    const [command, ...args] =
      process.platform === 'win32'
        ? ['powershell', '-NoProfile', '-Command', `(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`]
        : ['ps', '-o', 'lstart=', '-p', String(pid)];
    const { stdout } = await run(command, args);
    return stdout.trim() === '' ? null : stdout.trim();
  } catch {
    // Each of them fails when there is no such process.
    return null;
  }
}

async function linuxStart(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may hold anything, so the fields are counted from its end: the third is the state.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields[18];
  if (state === 'Z' || ticks === undefined) return null;
  const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'latin1');
  return `${bootId.trim()} ${ticks}`;
}
