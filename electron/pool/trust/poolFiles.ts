import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SignedEntry } from '../../wire/generated/roomful/v1/roster.ts';
import { PoolError } from '../poolError.ts';
import { readPrivateFile, writePrivateFile } from '../privateFile.ts';
import type { InviteBook } from './inviteBook.ts';

const entrySchema = z.strictObject({ body: z.base64(), signature: z.base64() });
/** A signed entry as text, for files. */
export type EntryText = z.infer<typeof entrySchema>;

const inviteSchema = z.strictObject({
  id: z.hex(),
  proofKey: z.hex(),
  expiresAtMs: z.number(),
  used: z.strictObject({ atMs: z.number(), member: z.string() }).nullable(),
});
const invitesSchema = z.strictObject({
  /** Where joins were listened for last; tokens that are out name it. */
  port: z.int().nonnegative(),
  invites: z.array(inviteSchema),
});
export type KeptInvites = { port: number; invites: InviteBook };

const removalSchema = z.strictObject({ poolName: z.string(), atMs: z.number() });
/** The last time that this machine was removed from a pool. */
export type Removal = z.infer<typeof removalSchema>;

const FILES = { roster: 'roster.json', invites: 'invites.json', removal: 'removed.json' } as const;
/** What a member has of its pool, the certificate first: without it the rest counts for nothing. */
const MEMBERSHIP = ['certificate.pem', 'ca-key.pem', 'roster.json', 'invites.json', 'ca.pem'];

/** The files of a pool in a data folder (`pool/`, all 0600), beside those of PoolAuthority and poolCertificate. */
export class PoolFiles {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, 'pool');
  }

  /** Throws PoolError('DamagedFile'), as do the others that read. */
  async readRoster(): Promise<SignedEntry[]> {
    const entries = await this.#read(FILES.roster, z.array(entrySchema), []);
    return entries.map(entryOfText);
  }

  async writeRoster(entries: readonly SignedEntry[]): Promise<void> {
    await this.#write(FILES.roster, entries.map(textOfEntry));
  }

  readInvites(): Promise<KeptInvites> {
    return this.#read(FILES.invites, invitesSchema, { port: 0, invites: [] });
  }

  async writeInvites(kept: KeptInvites): Promise<void> {
    await this.#write(FILES.invites, kept);
  }

  readRemoval(): Promise<Removal | null> {
    return this.#read(FILES.removal, removalSchema.nullable(), null);
  }

  async writeRemoval(removal: Removal | null): Promise<void> {
    await this.#write(FILES.removal, removal);
  }

  /** Removes what this machine has of its pool. */
  async clear(): Promise<void> {
    for (const name of MEMBERSHIP) await rm(join(this.#folder, name), { force: true });
  }

  async #read<T>(name: string, schema: z.ZodType<T>, missing: T): Promise<T> {
    const path = join(this.#folder, name);
    const text = await readPrivateFile(path);
    if (text === null) return missing;
    try {
      return schema.parse(JSON.parse(text));
    } catch (cause) {
      throw new PoolError('DamagedFile', `${path} cannot be read. Leave the pool and join again.`, { cause });
    }
  }

  async #write(name: string, content: unknown): Promise<void> {
    await writePrivateFile(join(this.#folder, name), JSON.stringify(content));
  }
}

export function textOfEntry({ body, signature }: SignedEntry): EntryText {
  return { body: Buffer.from(body).toString('base64'), signature: Buffer.from(signature).toString('base64') };
}

export function entryOfText({ body, signature }: EntryText): SignedEntry {
  return { body: Buffer.from(body, 'base64'), signature: Buffer.from(signature, 'base64') };
}
