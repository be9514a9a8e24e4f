import { join } from 'node:path';
import { z } from 'zod';
import { readPrivateFile, writePrivateFile } from '../pool/privateFile.ts';

const noteSchema = z.strictObject({ port: z.int().min(1).max(65_535) });

/**
 * Listens on the port of the last time, so that addresses in the settings of editors outlive a restart; on any free one where
 * another program has taken it, and on that from then on. `listen` answers the port that it listens on. A `chosen` port is taken or
 * nothing is: then it rejects with one plain line.
 */
export async function listenAsBefore(
  home: string,
  listen: (port: number) => Promise<number>,
  chosen?: number,
): Promise<void> {
  const path = join(home, 'endpoint-port.json');
  const before = await readPort(path);
  const port = await listen(chosen ?? before ?? 0).catch((cause: unknown) => {
    if (!isTaken(cause)) throw cause;
    if (chosen === undefined) return listen(0);
    throw new Error(`Port ${chosen} is taken by another program; choose another one for the endpoint.`, { cause });
  });
  if (port !== before) await writePrivateFile(path, JSON.stringify({ port }));
}

/** Null where there is none that can be understood: any port will do then. */
async function readPort(path: string): Promise<number | null> {
  const text = await readPrivateFile(path);
  if (text === null) return null;
  try {
    return noteSchema.parse(JSON.parse(text)).port;
  } catch {
    return null;
  }
}

function isTaken(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  // Windows answers EACCES for ports that the system has set aside.
  return code === 'EADDRINUSE' || code === 'EACCES';
}
