import { GgufError } from '../gguf/ggufError.ts';
import { type FileMark, markFile, sameBytes } from './fileMark.ts';
import { LibraryError } from './libraryError.ts';

/** A file that was changed less than this ago, ms, may still be on its way. */
const FRESH_MS = 3000;
/** Until a file that is on its way is looked at again, ms. */
const AGAIN_MS = 1500;

export interface FolderIntakeOptions {
  /** Whether the library has this file already, or was told not to. */
  isKnown(path: string): boolean;
  /** Takes a model into the library; rejects with GgufError where it is none. */
  take(path: string): Promise<unknown>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Decides which files of watched folders become models: those that nobody is still writing. */
export class FolderIntake {
  readonly #options: FolderIntakeOptions;
  readonly #refused = new Map<string, { mark: FileMark; problem: string; mayHeal: boolean }>();
  /** As the look before saw them. */
  #seen = new Map<string, FileMark>();

  constructor(options: FolderIntakeOptions) {
    this.#options = options;
  }

  /** Files that are no models, and why. */
  refused(): { path: string; problem: string }[] {
    return [...this.#refused].map(([path, { problem }]) => ({ path, problem }));
  }

  /** Takes what is new of the files that lie there now; answers after how many ms to look again, null for no need. */
  async look(paths: readonly string[]): Promise<number | null> {
    const seen = new Map<string, FileMark>();
    let again: number | null = null;
    const there = new Set(paths);
    for (const path of this.#refused.keys()) if (!there.has(path)) this.#refused.delete(path);
    for (const path of paths) {
      const mark = this.#options.isKnown(path) ? null : await markFile(path);
      if (mark === null) {
        this.#refused.delete(path);
        continue;
      }
      seen.set(path, mark);
      const before = this.#refused.get(path);
      if (before !== undefined && !before.mayHeal && sameBytes([before.mark], [mark])) continue;
      const last = this.#seen.get(path);
      const isSettled =
        last === undefined ? this.#options.now() - mark.changedAt > FRESH_MS : sameBytes([last], [mark]);
      if (isSettled) await this.#take(path, mark);
      else again = AGAIN_MS;
    }
    this.#seen = seen;
    return again;
  }

  async #take(path: string, mark: FileMark): Promise<void> {
    try {
      await this.#options.take(path);
      this.#refused.delete(path);
    } catch (cause) {
      if (!(cause instanceof GgufError || cause instanceof LibraryError)) throw cause;
      // Other files of its set, or the rest of it, may still come; the model that it is a copy of may go.
      const mayHeal = ['MissingShard', 'ShardsDiffer', 'Truncated', 'FileChanged', 'Copy', 'Differs'].includes(
        cause.code,
      );
      this.#refused.set(path, { mark, problem: cause.message, mayHeal });
    }
  }
}
