import type { ModelSource } from '../gguf/openModel.ts';
import type { FileMark } from './fileMark.ts';
import { LibraryError } from './libraryError.ts';
import type { LibraryEntry } from './libraryFile.ts';
import { hashModel, type ModelHashes } from './modelHashes.ts';

/** Of one core, while somebody waits. */
const SHARE = 0.9;

/** A file that has the content id of a model that is here. */
export interface Lookalike {
  source: ModelSource;
  marks: readonly FileMark[];
  /** Its hashes, where they are known already. */
  hashes: ModelHashes | undefined;
  /** Whether somebody waits until it has been read. */
  waits: boolean;
}

/**
 * Tells copies of a model from files that only look like one. A content id covers headers, sizes and a sample of the weights,
 * so a file counts as a copy only when both have been read whole.
 */
export class CopyCheck {
  readonly #hashes: (id: string, signal: AbortSignal) => Promise<ModelHashes>;
  /** What differs, or null, by the marks of both. */
  readonly #comparing = new Map<string, Promise<string | null>>();
  readonly #compared = new Set<string>();
  readonly #closing = new AbortController();

  /** `hashes` of a model that is here. */
  constructor(hashes: (id: string, signal: AbortSignal) => Promise<ModelHashes>) {
    this.#hashes = hashes;
  }

  /**
   * Throws LibraryError('Differs') where the file is not a copy of the model, and ('Copy') as long as nobody knows and nobody
   * waits.
   */
  async assertCopy({ id, name, files }: LibraryEntry, lookalike: Lookalike): Promise<void> {
    const { marks, waits } = lookalike;
    if (marks.every(({ inode }, index) => inode === files[index]?.inode)) return;
    const key = JSON.stringify([marks, files]);
    const path = marks[0]?.path ?? '';
    const comparing = this.#comparing.get(key) ?? this.#compare(key, id, lookalike);
    if (!waits && !this.#compared.has(key)) {
      throw new LibraryError('Copy', `${path} looks like ${name}; it is being compared with it.`);
    }
    const different = await comparing;
    if (different === null) return;
    throw new LibraryError(
      'Differs',
      `${path} has the header and the size of ${name}, which is ${files[0]?.path}, but other weights: ${different}. One of the two is damaged or altered; take ${name} out first to import this one.`,
    );
  }

  async close(): Promise<void> {
    this.#closing.abort(new LibraryError('Stopped', 'The member is closing.'));
    await Promise.allSettled(this.#comparing.values());
  }

  #compare(key: string, id: string, { source, hashes }: Lookalike): Promise<string | null> {
    const comparing = this.#difference(id, source, hashes);
    this.#comparing.set(key, comparing);
    comparing.then(
      () => this.#compared.add(key),
      () => this.#comparing.delete(key),
    );
    return comparing;
  }

  /** What differs; null where nothing does. */
  async #difference(id: string, source: ModelSource, known: ModelHashes | undefined): Promise<string | null> {
    const { signal } = this.#closing;
    const { tensors } = await this.#hashes(id, signal);
    const found = known ?? (await hashModel(source, { signal, share: () => SHARE }));
    const [first, ...more] = [...tensors.keys()].filter((name) => tensors.get(name) !== found.tensors.get(name));
    if (first === undefined) return null;
    return more.length === 0 ? first : `${first} and ${more.length} more`;
  }
}
