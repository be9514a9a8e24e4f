import { type FSWatcher, watch } from 'node:fs';
import { type FolderScan, scanFolder } from './scanFolder.ts';

/** After a change, before a look, ms: changes come in crowds. */
const SETTLE_MS = 400;
/** Between looks without a change, ms; network disks tell of none. */
const POLL_MS = 30_000;
/** More folders than this are looked at when their turn comes, and not watched. */
const MOST_WATCHED = 200;

export interface WatchFoldersOptions {
  folders: () => readonly string[];
  /** What lies in each folder now; null and why where it cannot be read. One call at a time. */
  onLook(found: ReadonlyMap<string, FolderScan | { problem: string }>): Promise<void>;
}

/** Looks into folders at the start, after every change in them, and every half minute. */
export class WatchFolders {
  readonly #options: WatchFoldersOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: WatchFoldersOptions) {
    this.#options = options;
  }

  /** Looks now, after the look that is on its way. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  /** Looks after a while, or sooner. */
  lookIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.look(), ms);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#looking;
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    this.lookIn(POLL_MS);
    const found = new Map<string, FolderScan | { problem: string }>();
    for (const folder of this.#options.folders()) {
      const scan = await scanFolder(folder).catch((cause: unknown) => ({ problem: whyNot(folder, cause) }));
      found.set(folder, scan);
    }
    this.#watch([...found.values()].flatMap((scan) => ('folders' in scan ? scan.folders : [])));
    if (!this.#closed) await this.#options.onLook(found);
  }

  #watch(folders: readonly string[]): void {
    if (this.#closed) return;
    const wanted = new Set(folders.slice(0, MOST_WATCHED));
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.lookIn(SETTLE_MS));
        // It went away, or the system has no more to give: the next look finds out.
        watcher.on('error', () => {
          watcher.close();
          this.#watchers.delete(folder);
        });
        this.#watchers.set(folder, watcher);
      } catch {
        // Looked at every half minute all the same.
      }
    }
  }
}

function whyNot(folder: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : String(cause);
  if (code === 'ENOENT') return `The folder ${folder} is not there.`;
  if (code === 'ENOTDIR') return `${folder} is no folder.`;
  if (code === 'EACCES' || code === 'EPERM') return `The folder ${folder} may not be read: no permission.`;
  return `The folder ${folder} cannot be read (${code}).`;
}
