import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readPrivateFile, writePrivateFile } from '../pool/privateFile.ts';

const noteSchema = z.object({ gateway: z.url() });

/** Writes down where the gateway of a data folder's member listens, for programs of the same user. */
export async function noteGateway(home: string, gateway: string): Promise<void> {
  await writePrivateFile(notePath(home), JSON.stringify({ gateway }));
}

export async function forgetGateway(home: string): Promise<void> {
  await rm(notePath(home), { force: true });
}

/** The gateway's origin; null where no member has noted one. It may be gone all the same. */
export async function notedGateway(home: string): Promise<string | null> {
  const text = await readPrivateFile(notePath(home));
  if (text === null) return null;
  try {
    return noteSchema.parse(JSON.parse(text)).gateway;
  } catch {
    // A half-written note is as good as none: the member writes it anew at its next start.
    return null;
  }
}

function notePath(home: string): string {
  return join(home, 'gateway.json');
}
