import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';

/** Names this run of the machine: another one may have lost what it had not flushed to the disk. */
export async function bootId(): Promise<string> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch {
    // Elsewhere the time of the start, to some minutes; being wrong costs a check, nothing else.
    return `since-${Math.round((Date.now() / 1000 - uptime()) / 300)}`;
  }
}
