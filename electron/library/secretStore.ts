import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from '../pool/privateFile.ts';

/** Where secrets are kept. The desktop app injects the system's own store. */
export interface SecretStore {
  /** For people, as the end of "kept in". */
  readonly place: string;
  /** Null where none is kept. */
  read(name: string): Promise<string | null>;
  /** Null forgets it. */
  write(name: string, secret: string | null): Promise<void>;
}

/** Plain files for their owner alone, where no system's store is at hand. */
export function fileSecretStore(home: string): SecretStore {
  const folder = join(home, 'secrets');
  return {
    place: `a plain file in ${folder} that only you can read`,
    read: async (name) => (await readPrivateFile(join(folder, name)))?.trim() || null,
    write: async (name, secret) => {
      if (secret === null) await rm(join(folder, name), { force: true });
      else await writePrivateFile(join(folder, name), `${secret}\n`);
    },
  };
}
