import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Namespaces of all owners begin so. */
const PREFIX = 'roomful';

/**
 * The first part of the names of a process's namespaces. It says who owns them: the process id, and when that process
 * started, since ids are used again.
 */
export function ownerPrefix(pid: number): string {
  return `${PREFIX}-${pid}-${startOf(pid)}`;
}

/** Runs commands of `ip`, one a line, all in one namespace, or outside any where null; throws what the first failing one said. */
export async function ipBatch(namespace: string | null, lines: readonly string[]): Promise<void> {
  const child = spawn('ip', [...(namespace === null ? [] : ['-n', namespace]), '-batch', '-']);
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.end(`${lines.join('\n')}\n`);
  const code = await ended;
  if (code !== 0) throw new Error(`ip ended with ${code} in ${namespace ?? 'no namespace'}: ${errors.trim()}`);
}

export async function addNamespaces(names: readonly string[]): Promise<void> {
  await ipBatch(
    null,
    names.map((name) => `netns add ${name}`),
  );
}

/** Kills what runs in the namespaces and removes them; those that are gone, or go meanwhile, are no error. */
export async function removeNamespaces(names: readonly string[]): Promise<void> {
  for (const name of names) {
    try {
      const { stdout } = await run('ip', ['netns', 'pids', name]);
      for (const pid of stdout.split('\n').filter(Boolean)) kill(Number(pid));
      await run('ip', ['netns', 'delete', name]);
    } catch (cause) {
      if ((await listNamespaces()).includes(name)) throw cause;
    }
  }
}

/** Removes what owners left behind that are gone. */
export async function removeLeftovers(): Promise<void> {
  const orphaned = (await listNamespaces()).filter((name) => {
    const [, pid, start] = new RegExp(`^${PREFIX}-(\\d+)-(\\d+)-`).exec(name) ?? [];
    return pid !== undefined && startOf(Number(pid)) !== start;
  });
  await removeNamespaces(orphaned);
}

export async function listNamespaces(): Promise<string[]> {
  const { stdout } = await run('ip', ['netns', 'list']);
  return stdout.split('\n').flatMap((line) => line.split(' ')[0] || []);
}

/** When a process started, in clock ticks since boot; null when there is none, also when it only waits to be reaped. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
}
