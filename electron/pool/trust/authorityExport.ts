import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { z } from 'zod';
import { PoolError } from '../poolError.ts';

/** scrypt's memory is 128 * N * r bytes: 128 MiB, half a second. */
const COST = { N: 2 ** 17, r: 8, p: 1 } as const;
const MEMORY_LIMIT_BYTES = 256 * 2 ** 20;
const MIN_PASSPHRASE = 12;

const base64 = z.base64().max(4 * 2 ** 20);

const exportSchema = z.strictObject({
  format: z.literal('roomful-authority'),
  version: z.literal(1),
  /** The pool's id. */
  pool: z.string(),
  poolName: z.string(),
  kdf: z.strictObject({
    name: z.literal('scrypt'),
    N: z.literal([2 ** 15, 2 ** 16, 2 ** 17]),
    r: z.literal(8),
    p: z.literal(1),
    salt: base64,
  }),
  nonce: base64,
  tag: base64,
  sealed: base64,
});
type Exported = z.infer<typeof exportSchema>;

const contentSchema = z.strictObject({
  /** PEM. */
  key: z.string(),
  certificate: z.string(),
  roster: z.array(z.strictObject({ body: base64, signature: base64 })),
});

/** All that a pool needs to live on when its admins are lost. */
export type AuthorityBackup = z.infer<typeof contentSchema>;

/**
 * The backup, encrypted with a passphrase (scrypt, AES-256-GCM), as the text of a file. Throws
 * PoolError('WrongPassphrase') for a passphrase below twelve characters.
 */
export async function sealBackup(
  backup: AuthorityBackup,
  { pool, poolName, passphrase }: { pool: string; poolName: string; passphrase: string },
): Promise<string> {
  if (passphrase.length < MIN_PASSPHRASE) {
    throw new PoolError('WrongPassphrase', `The passphrase needs at least ${MIN_PASSPHRASE} characters.`);
  }
  const salt = randomBytes(16);
  const nonce = randomBytes(12);
  const open = {
    format: 'roomful-authority',
    version: 1,
    pool,
    poolName,
    kdf: { name: 'scrypt', ...COST, salt: salt.toString('base64') },
    nonce: nonce.toString('base64'),
  } satisfies Partial<Exported>;
  const cipher = createCipheriv('aes-256-gcm', await deriveKey(passphrase, salt, COST), nonce);
  cipher.setAAD(openPart(open));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(backup), 'utf8'), cipher.final()]);
  const parts = { tag: cipher.getAuthTag().toString('base64'), sealed: sealed.toString('base64') };
  return `${JSON.stringify({ ...open, ...parts }, null, 2)}\n`;
}

/** Reads what sealBackup made. Throws PoolError: 'BadExport' for what is none, 'WrongPassphrase'. */
export async function openBackup(text: string, passphrase: string): Promise<AuthorityBackup> {
  const exported = parseExport(text);
  const { kdf, nonce, tag, sealed } = exported;
  const key = await deriveKey(passphrase, Buffer.from(kdf.salt, 'base64'), kdf);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64'), { authTagLength: 16 });
    decipher.setAAD(openPart(exported));
    decipher.setAuthTag(Buffer.from(tag, 'base64'));
    const content = Buffer.concat([decipher.update(Buffer.from(sealed, 'base64')), decipher.final()]);
    return contentSchema.parse(JSON.parse(content.toString('utf8')));
  } catch (cause) {
    throw new PoolError('WrongPassphrase', 'The passphrase is wrong, or the file has been changed.', { cause });
  }
}

function parseExport(text: string): Exported {
  try {
    return exportSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PoolError('BadExport', 'This is no exported pool key of Roomful, or a part of it is missing.', { cause });
  }
}

/** What can be read without the passphrase; it cannot be changed without it. */
function openPart({ format, version, pool, poolName, kdf, nonce }: Omit<Exported, 'tag' | 'sealed'>): Buffer {
  const { name, N, r, p, salt } = kdf;
  return Buffer.from(JSON.stringify([format, version, pool, poolName, name, N, r, p, salt, nonce]));
}

function deriveKey(
  passphrase: string,
  salt: Buffer,
  { N, r, p }: { N: number; r: number; p: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { N, r, p, maxmem: MEMORY_LIMIT_BYTES };
    scrypt(passphrase.normalize('NFKC'), salt, 32, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
