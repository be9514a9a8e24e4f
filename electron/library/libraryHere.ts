import { basename, join, sep } from 'node:path';
import type { ModelsHere } from './download/fetchModel.ts';
import type { RemoteFile } from './download/hubClient.ts';
import { markFile } from './fileMark.ts';
import type { LibraryEntry } from './libraryFile.ts';
import type { ModelHashes } from './modelHashes.ts';

export interface LibraryHereOptions {
  modelsFolder: string;
  entries(): readonly LibraryEntry[];
  /** Whether the files of a model are as they were. */
  isReady(id: string): Promise<boolean>;
  /** The hashes of a model where they are known already. */
  hashes(id: string): Promise<ModelHashes | null>;
}

/** What of a download is on this disk already, by the hashes that the hub publishes. */
export class LibraryHere implements ModelsHere {
  readonly #options: LibraryHereOptions;

  constructor(options: LibraryHereOptions) {
    this.#options = options;
  }

  /** Where nothing was published, a model of the same lengths that came from the same reference counts. */
  async whole(files: readonly RemoteFile[], reference: string): Promise<string | null> {
    for (const entry of this.#options.entries()) {
      const hasLengths =
        entry.files.length === files.length && files.every(({ bytes }, index) => bytes === entry.files[index]?.bytes);
      if (!hasLengths || !(await this.#options.isReady(entry.id))) continue;
      const published = files.flatMap(({ sha256 }) => sha256 ?? []);
      if (published.length < files.length) {
        if (published.length === 0 && entry.from === reference) return entry.id;
        continue;
      }
      const own = entry.published ?? (entry.hashed ? (await this.#options.hashes(entry.id))?.files : undefined);
      if (own !== undefined && published.every((hash, index) => hash === own[index])) return entry.id;
    }
    return null;
  }

  /** Files of the same name and length, where a published hash will tell whether they are the same. */
  async some(files: readonly RemoteFile[], folder: string): Promise<Map<string, { path: string; isOwn: boolean }>> {
    const { modelsFolder, entries } = this.#options;
    const known = entries().flatMap((entry) => (entry.damage === null ? entry.files.map(({ path }) => path) : []));
    const found = new Map<string, { path: string; isOwn: boolean }>();
    for (const { name, bytes, sha256 } of files) {
      if (bytes === null || sha256 === null) continue;
      for (const path of [join(modelsFolder, folder, name), ...known.filter((each) => basename(each) === name)]) {
        if ((await markFile(path))?.bytes !== bytes) continue;
        found.set(name, { path, isOwn: path.startsWith(join(modelsFolder, sep)) });
        break;
      }
    }
    return found;
  }
}
