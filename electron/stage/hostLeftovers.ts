import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { HostLauncher } from './hostLauncher.ts';
import { processStart } from './processStart.ts';

/** How long a killed process may take to go, ms. */
const GONE_MS = 2000;

const noteSchema = z.strictObject({
  pid: z.number().int().positive(),
  start: z.string(),
  parentPid: z.number().int().positive(),
  parentStart: z.string(),
});
type Note = z.infer<typeof noteSchema>;

const folderOf = (home: string): string => join(home, 'hosts');

/** Notes every host that `launcher` starts in the data folder for as long as the host lives. */
export function notingLauncher(launcher: HostLauncher, home: string): HostLauncher {
  return {
    launch: (host, listeners) => {
      // A note that cannot be written or removed is not worth the host: it names a process that is gone, or is missing.
      let noted: Promise<string | null> = Promise.resolve(null);
      return launcher.launch(host, {
        ...listeners,
        onSpawn: (pid) => {
          noted = note(home, pid).catch(() => null);
          listeners.onSpawn(pid);
        },
        onExit: (exit) => {
          noted.then((path) => (path === null ? undefined : rm(path, { force: true }))).catch(() => {});
          listeners.onExit(exit);
        },
      });
    },
  };
}

/**
 * Ends the hosts that an earlier run of this member left behind, before it starts its own. A process is ended only when it
 * is the very one that was noted, and the member that had started it is gone. Answers their process ids.
 */
export async function reapLeftovers(home: string): Promise<number[]> {
  const reaped: number[] = [];
  for (const name of await notes(home)) {
    const path = join(folderOf(home), name);
    const left = await readNote(path);
    if (left !== null && (await processStart(left.parentPid)) === left.parentStart) continue;
    if (left !== null && (await processStart(left.pid)) === left.start) {
      await end(left);
      reaped.push(left.pid);
    }
    await rm(path, { force: true });
  }
  return reaped;
}

/** Answers the file of the note, null when the process is gone already. */
async function note(home: string, pid: number): Promise<string | null> {
  const [start, parentStart] = await Promise.all([processStart(pid), processStart(process.pid)]);
  if (start === null || parentStart === null) return null;
  const content: Note = { pid, start, parentPid: process.pid, parentStart };
  const path = join(folderOf(home), `${pid}.json`);
  await mkdir(folderOf(home), { recursive: true, mode: 0o700 });
  await writeFile(path, JSON.stringify(content), { mode: 0o600 });
  return path;
}

async function notes(home: string): Promise<string[]> {
  try {
    return (await readdir(folderOf(home))).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

async function readNote(path: string): Promise<Note | null> {
  try {
    return noteSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // Gone with its host just now, or half a note of a run that died while it wrote: nothing can be known of its process.
    return null;
  }
}

async function end({ pid, start }: Note): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return;
  }
  const until = performance.now() + GONE_MS;
  while ((await processStart(pid)) === start && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
