import { mkdir, rm } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MissingShardError } from '../gguf/ggufError.ts';
import type { ModelSource } from '../gguf/openModel.ts';
import { markFile } from './fileMark.ts';
import { FolderIntake } from './folderIntake.ts';
import { LibraryError } from './libraryError.ts';
import { LibraryFile } from './libraryFile.ts';
import { LibraryHere } from './libraryHere.ts';
import type { LibraryModel, LibraryState, Verification, WatchedFolder } from './libraryState.ts';
import { modelCalled } from './modelCalled.ts';
import type { ModelHashes } from './modelHashes.ts';
import { ModelShelf, type PutOptions, type WholeOptions } from './modelShelf.ts';
import type { FolderScan } from './scanFolder.ts';
import { WatchFolders } from './watchFolders.ts';

export interface ModelLibraryOptions {
  /** Data folder. */
  home: string;
  /** After every change of `state`, the progress of hashing included; at most every `TELL_MS`. */
  onChange?: () => void;
  /** What is wrong and stops nothing. */
  onProblem?: (problem: unknown) => void;
}

/** Between two calls of `onChange`, ms. */
const TELL_MS = 250;
/** Whoever asks for the list waits so long for a look at its files, ms. */
const MOST_LOOK_MS = 1000;

/**
 * The models on this machine's disk: imported by path, found in watched folders, or downloaded. It never copies a file,
 * notices when one was moved or changed, and hashes every tensor in the background. It is kept in `library` of the data
 * folder; what is put into `models` there is found. Methods reject with LibraryError or GgufError, each one plain line.
 */
export class ModelLibrary {
  /** What of a download need not be fetched. */
  readonly here: LibraryHere;
  readonly #options: ModelLibraryOptions;
  readonly #file: LibraryFile;
  readonly #shelf: ModelShelf;
  readonly #intake: FolderIntake;
  readonly #watch: WatchFolders;
  readonly #folders: string[];
  readonly #ignored: Set<string>;
  /** Files of watched folders that are copies of models, and of which, by content id. */
  readonly #copies = new Map<string, string>();
  readonly #verifying = new Map<string, AbortController>();
  #folderStates: WatchedFolder[] = [];
  #writing: Promise<void> = Promise.resolve();
  #telling: NodeJS.Timeout | undefined;

  private constructor(options: ModelLibraryOptions, file: LibraryFile, kept: Awaited<ReturnType<LibraryFile['read']>>) {
    this.#options = options;
    this.#file = file;
    this.#folders = [...kept.folders];
    this.#ignored = new Set(kept.ignored);
    this.#shelf = new ModelShelf({
      file,
      entries: kept.models,
      keep: () => this.#keep(),
      onChange: () => this.#tell(),
    });
    this.here = new LibraryHere({
      modelsFolder: this.modelsFolder,
      entries: () => this.#shelf.entries(),
      hashes: (id) => file.readHashes(id),
      isReady: (id) =>
        this.#shelf.open(id).then(
          () => true,
          () => false,
        ),
    });
    this.#intake = new FolderIntake({
      isKnown: (path) => this.#ignored.has(path) || this.#shelf.models().some((model) => holds(model, path)),
      take: async (path) => {
        const { id, name, files } = await this.#shelf.put(path, { origin: 'folder' });
        if (files.includes(path)) return;
        this.#copies.set(path, id);
        // Another name of the same file is nothing to speak of.
        if (!(await isSameFile(path, files[0])))
          throw new LibraryError('Copy', `${path} is a copy of ${name}, which is ${files[0]}.`);
      },
      now: () => Date.now(),
    });
    this.#watch = new WatchFolders({ folders: () => this.#watched(), onLook: (found) => this.#look(found) });
  }

  /** Reads what was kept, looks whether the files are as they were, and begins to watch. */
  static async open(options: ModelLibraryOptions): Promise<ModelLibrary> {
    const file = new LibraryFile(options.home);
    await mkdir(join(options.home, 'models'), { recursive: true, mode: 0o700 });
    const kept = await file.read();
    if (kept.problem !== null) options.onProblem?.(new LibraryError('DamagedLibrary', kept.problem));
    const library = new ModelLibrary(options, file, kept);
    await library.#shelf.check();
    // Folders may hold many models, and a member should not wait for them.
    library.#watch.lookIn(0);
    return library;
  }

  /** Where downloads go, and where anyone may put a model. */
  get modelsFolder(): string {
    return join(this.#options.home, 'models');
  }

  state(): Omit<LibraryState, 'downloads' | 'elsewhere' | 'hasDemoModel'> {
    return { models: this.#shelf.models(), folders: this.#folderStates, skipped: this.#intake.refused() };
  }

  /** See `modelCalled`; null where no model is called so. */
  find(called: string): LibraryModel | null {
    const entry = modelCalled(this.#shelf.entries(), called);
    return entry === null ? null : this.#shelf.model(entry.id);
  }

  /** As `find`, but throws LibraryError('UnknownModel'). */
  called(called: string): LibraryModel {
    const found = this.find(called);
    if (found !== null) return found;
    throw new LibraryError(
      'UnknownModel',
      `No model of the library is called ${called}. \`roomful models\` lists them, \`roomful import FILE\` adds one.`,
    );
  }

  /**
   * Takes a model in, given the whole path of its file or of any file of its set. A copy of a model that is here already
   * changes nothing as long as the first one is there.
   */
  async import(path: string, options: PutOptions = { origin: 'imported' }): Promise<LibraryModel> {
    const model = await this.#shelf.put(wholePath(path), options);
    if (model.files.some((file) => this.#ignored.delete(file))) await this.#keep();
    return model;
  }

  /**
   * Takes in what a window has copied into `modelsFolder`. The copies are deleted with the model, and at once where they are
   * none or of a model that is here already; not those of a set that lacks others yet.
   */
  async importCopies(copies: readonly string[]): Promise<LibraryModel> {
    const foreign = copies.find((path) => dirname(wholePath(path)) !== this.modelsFolder);
    const last = copies.at(-1);
    if (foreign !== undefined || last === undefined) {
      throw new LibraryError('BadReference', `${foreign ?? 'Nothing'} is no copy in ${this.modelsFolder}.`);
    }
    try {
      return await this.import(last, { origin: 'dropped' });
    } catch (cause) {
      if (cause instanceof MissingShardError) copies = [];
      throw cause;
    } finally {
      const held = new Set(this.#shelf.entries().flatMap(({ files }) => files.map(({ path }) => path)));
      for (const path of copies) if (!held.has(path)) await rm(path, { force: true });
    }
  }

  /** The headers of a model, by its content id. Rejects with LibraryError('FileGone') or ('FileChanged'). */
  open(id: string): Promise<ModelSource> {
    return this.#shelf.open(id);
  }

  /** The hashes of a model, by its content id; where they are not known yet they are made now. The signal ends the wait. */
  hashes(id: string, signal?: AbortSignal): Promise<ModelHashes> {
    return this.#shelf.hashes(id, signal);
  }

  /**
   * Reads a model from end to end before it is loaded, unless that was done lately and the file system knows of no change since.
   * Rejects with LibraryError('FileChanged') that names what is not as it was; then the model counts as damaged.
   */
  assertWhole(id: string, options: WholeOptions): Promise<void> {
    return this.#shelf.assertWhole(id, options);
  }

  /** A damaged model whose tensors can still be taken where they are what they were; null where there is none. */
  remains(id: string): Promise<{ source: ModelSource; hashes: ModelHashes } | null> {
    return this.#shelf.remains(id);
  }

  /** Reads a model from end to end and compares it with the hashes of its import and with those of the hub. */
  async verify(id: string, signal?: AbortSignal): Promise<Verification> {
    const stop = new AbortController();
    if (this.#verifying.has(id))
      throw new LibraryError('Busy', `${this.#shelf.model(id).name} is being verified already.`);
    this.#verifying.set(id, stop);
    try {
      return await this.#shelf.verify(id, signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]));
    } finally {
      this.#verifying.delete(id);
    }
  }

  stopVerifying(id: string): void {
    this.#verifying.get(id)?.abort(new LibraryError('Stopped', 'The verification was stopped.'));
  }

  /**
   * Takes a model out; it does not come back from a copy in a watched folder. Its files are deleted where they were downloaded
   * or dropped, or as `deleteFiles` says; answers those.
   */
  async remove(id: string, { deleteFiles }: { deleteFiles?: boolean | undefined } = {}): Promise<string[]> {
    const { files, origin } = this.#shelf.model(id);
    const deletes = deleteFiles ?? (origin === 'downloaded' || origin === 'dropped');
    if (deletes) for (const path of files) await rm(path, { force: true });
    const copies = [...this.#copies].flatMap(([path, of]) => (of === id ? [path] : []));
    for (const path of deletes ? copies : [...files, ...copies]) if (this.#isWatched(path)) this.#ignored.add(path);
    await this.#shelf.drop(id);
    return deletes ? files : [];
  }

  /** Watches a folder from now on; rejects where it cannot be read. */
  async addFolder(path: string): Promise<void> {
    const folder = wholePath(path);
    if (this.#watched().includes(folder)) return;
    this.#folders.push(folder);
    await this.look();
    const problem = this.#folderStates.find((state) => state.path === folder)?.problem ?? null;
    if (problem !== null) {
      await this.removeFolder(folder);
      throw new LibraryError('BadReference', problem);
    }
    await this.#keep();
  }

  /** Watches it no more. What was found there stays as long as its files do. */
  async removeFolder(path: string): Promise<void> {
    const at = this.#folders.indexOf(resolve(path));
    if (at < 0) throw new LibraryError('BadReference', `${path} is not a folder that was added.`);
    this.#folders.splice(at, 1);
    await this.#keep();
    await this.look();
  }

  /** Looks now into the watched folders and at every file of the library. */
  look(): Promise<void> {
    return this.#watch.look();
  }

  /** Looks now at every file of the library; what has to be read for that may take longer than whoever asks should wait. */
  async lookAtFiles(): Promise<void> {
    const looking = this.#shelf.check().catch((cause: unknown) => this.#options.onProblem?.(cause));
    await Promise.race([looking, sleep(MOST_LOOK_MS, undefined, { ref: false })]);
  }

  async close(): Promise<void> {
    for (const id of this.#verifying.keys()) this.stopVerifying(id);
    await this.#watch.close();
    await this.#shelf.close();
    clearTimeout(this.#telling);
    await this.#writing;
  }

  #watched(): string[] {
    return [this.modelsFolder, ...this.#folders];
  }

  async #look(found: ReadonlyMap<string, FolderScan | { problem: string }>): Promise<void> {
    try {
      await this.#shelf.check();
      const files = [...found.values()].flatMap((scan) => ('files' in scan ? scan.files : []));
      const again = await this.#intake.look(files);
      if (again !== null) this.#watch.lookIn(again);
      await this.#dropDeleted(found, new Set(files));
    } catch (cause) {
      // The disk of the data folder, most likely; the next look tries again.
      this.#options.onProblem?.(cause);
    }
    this.#folderStates = [...found].map(([path, scan]) => ({ path, problem: 'problem' in scan ? scan.problem : null }));
    this.#tell();
  }

  #isWatched(path: string): boolean {
    return this.#watched().some((folder) => path.startsWith(folder + sep));
  }

  /**
   * What was found in a folder leaves the library with its file, or when another model lies in its place; not so where the
   * folder itself is away.
   */
  async #dropDeleted(
    found: ReadonlyMap<string, FolderScan | { problem: string }>,
    files: ReadonlySet<string>,
  ): Promise<void> {
    const readable = new Set([...found.values()].flatMap((scan) => ('folders' in scan ? scan.folders : [])));
    const isDeleted = (path: string): boolean => readable.has(dirname(path)) && !files.has(path);
    for (const path of this.#ignored) if (isDeleted(path)) this.#ignored.delete(path);
    for (const path of this.#copies.keys()) if (isDeleted(path)) this.#copies.delete(path);
    const models = this.#shelf.models();
    const ready = new Set(models.flatMap((model) => (model.state === 'ready' ? model.files : [])));
    for (const { id, origin, state, files: own } of models) {
      const isGone = state === 'gone' && own.every((path) => readable.has(dirname(path)));
      const isReplaced = state === 'changed' && own.some((path) => ready.has(path));
      if (origin === 'folder' && (isGone || isReplaced)) await this.#shelf.drop(id);
    }
  }

  /** Writes what is to outlive a restart; one write at a time, each of what is known when it begins. */
  #keep(): Promise<void> {
    const write = this.#writing.then(() =>
      this.#file.write({
        version: 2,
        models: this.#shelf.entries(),
        folders: this.#folders,
        ignored: [...this.#ignored],
      }),
    );
    this.#writing = write.catch(() => {});
    return write;
  }

  #tell(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      this.#options.onChange?.();
    }, TELL_MS);
  }
}

function wholePath(path: string): string {
  if (isAbsolute(path)) return resolve(path);
  throw new LibraryError('BadReference', `${path} is not a whole path.`);
}

/** Whether two paths lead to one file of the disk. */
async function isSameFile(path: string, other: string | undefined): Promise<boolean> {
  const [one, two] = await Promise.all([markFile(path), other === undefined ? null : markFile(other)]);
  return one !== null && one.inode === two?.inode;
}

/** Whether a file is taken by a model; one that was found in a folder gives way to what lies there now. */
function holds({ files, state, origin }: LibraryModel, path: string): boolean {
  const gaveWay = state === 'gone' || (state === 'changed' && origin === 'folder');
  return !gaveWay && files.includes(path);
}
