import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LibraryError } from '../libraryError.ts';
import type { LibraryDownload, LibraryModel } from '../libraryState.ts';
import type { PutOptions } from '../modelShelf.ts';
import { type FetchedModel, fetchModel, type ModelsHere, type Patience } from './fetchModel.ts';
import { IncomingFolder } from './incomingFolder.ts';
import { folderOf, type ModelReference, parseModelReference } from './modelReference.ts';
import { TransferRate } from './transferRate.ts';

export interface DownloadsOptions {
  /** Data folder. */
  home: string;
  /** Where models lie when they are whole. */
  modelsFolder: string;
  /** Base address of the hub, with a slash at its end. */
  hub: string;
  token(): Promise<string | null>;
  /** Takes a model into the library. */
  take(path: string, options: PutOptions): Promise<LibraryModel>;
  here: ModelsHere;
  onChange(): void;
  patience?: Patience;
  freeBytes?: (folder: string) => Promise<number>;
}

interface Running {
  view: LibraryDownload;
  stop: AbortController;
  /** Never rejects: its view tells how it ended. */
  settled: Promise<void>;
}

const PATIENCE: Patience = { stallMs: 60_000, pauseMs: 1000 };
/** Of those that have ended. */
const MOST_REMEMBERED = 20;

/** Fetches models from the hub or any address; each goes on after breaks, stops and restarts where it was. */
export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #running = new Map<string, Running>();
  /** By reference, oldest first. */
  readonly #ended = new Map<string, LibraryDownload>();
  #count = 0;

  private constructor(options: DownloadsOptions) {
    this.#options = options;
  }

  /** What an earlier run was in the middle of goes on; what was stopped or has failed is only known. */
  static async open(options: DownloadsOptions): Promise<Downloads> {
    const downloads = new Downloads(options);
    for (const { reference, bytes, totalBytes, rests } of await IncomingFolder.leftIn(options.home)) {
      const left: LibraryDownload = { ...downloads.#view(reference), state: 'stopped', bytes, totalBytes };
      if (rests) downloads.#ended.set(reference, left);
      else downloads.#start(parseModelReference(reference), { ...left, state: 'resolving' });
    }
    return downloads;
  }

  /** Newest first. */
  list(): LibraryDownload[] {
    return [...this.#ended.values(), ...[...this.#running.values()].map(({ view }) => view)].reverse();
  }

  /** Begins, or goes on; one that runs already is answered as it is. Throws LibraryError('BadReference'). */
  begin(given: string): LibraryDownload {
    const parsed = parseModelReference(given);
    const reference = given.trim();
    const running = this.#running.get(reference);
    if (running !== undefined) return running.view;
    this.#ended.delete(reference);
    const view = this.#start(parsed, this.#view(reference));
    this.#options.onChange();
    return view;
  }

  /** Stops a download; what has arrived is kept unless `discard`, which also clears one that has stopped or failed. */
  async stop(id: string, { discard }: { discard: boolean }): Promise<void> {
    const running = [...this.#running.values()].find(({ view }) => view.id === id);
    running?.stop.abort(stopped);
    await running?.settled;
    const ended = [...this.#ended.values()].find((view) => view.id === id);
    if (ended === undefined) throw new LibraryError('UnknownModel', `There is no download ${id}.`);
    if (!discard) return;
    await new IncomingFolder(this.#options.home, ended.reference).discard();
    this.#ended.delete(ended.reference);
    this.#options.onChange();
  }

  /** Stops what runs; it goes on in the next run. */
  async close(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { stop } of running) stop.abort(closed);
    await Promise.all(running.map(({ settled }) => settled));
  }

  #view(reference: string): LibraryDownload {
    this.#count += 1;
    const nothing = { totalBytes: null, bytes: 0, bytesPerSecond: 0, secondsLeft: null, problem: null, model: null };
    return { id: String(this.#count), reference, state: 'resolving', ...nothing };
  }

  #start(parsed: ModelReference, view: LibraryDownload): LibraryDownload {
    const download: Running = { view, stop: new AbortController(), settled: Promise.resolve() };
    this.#running.set(view.reference, download);
    download.settled = this.#run(parsed, download);
    return view;
  }

  async #run(parsed: ModelReference, download: Running): Promise<void> {
    const { reference } = download.view;
    const show = (change: Partial<LibraryDownload>): void => {
      download.view = { ...download.view, ...change };
      this.#options.onChange();
    };
    try {
      show({ ...(await this.#fetch(parsed, reference, download.stop.signal, show)), secondsLeft: null });
    } catch (cause) {
      const isStopped = cause === stopped || cause === closed;
      if (cause !== closed) await new IncomingFolder(this.#options.home, reference).rest().catch(() => {});
      const problem = isStopped ? null : cause instanceof Error ? cause.message : String(cause);
      show({ state: isStopped ? 'stopped' : 'failed', problem, bytesPerSecond: 0, secondsLeft: null });
    }
    this.#running.delete(reference);
    this.#ended.set(reference, download.view);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MOST_REMEMBERED && oldest !== undefined) this.#ended.delete(oldest);
    this.#options.onChange();
  }

  async #fetch(
    parsed: ModelReference,
    reference: string,
    signal: AbortSignal,
    show: (change: Partial<LibraryDownload>) => void,
  ): Promise<Partial<LibraryDownload>> {
    const { home, hub, token, here, patience = PATIENCE, freeBytes = freeBytesOf } = this.#options;
    const folder = new IncomingFolder(home, reference);
    const rate = new TransferRate();
    const fetched = await fetchModel(parsed, {
      folder,
      hub,
      token: await token(),
      signal,
      patience,
      freeBytes,
      here,
      onProgress: ({ phase, bytes, totalBytes }) => {
        rate.add(performance.now(), bytes);
        const speed = { bytesPerSecond: rate.bytesPerSecond(), secondsLeft: rate.secondsLeft(totalBytes) };
        show({ state: phase, bytes, ...(totalBytes !== null && { totalBytes }), ...speed });
      },
    });
    if ('id' in fetched) {
      await folder.discard();
      return { state: 'done', model: fetched.id };
    }
    const files = await this.#place(fetched, folderOf(parsed));
    const { hashes, published } = fetched;
    const model = await this.#options.take(files[0] ?? '', {
      origin: 'downloaded',
      from: reference,
      published,
      hashes,
    });
    await folder.discard();
    // Where it was here already, two copies help nobody.
    for (const path of files) if (!model.files.includes(path)) await rm(path, { force: true });
    return { state: 'done', model: model.id };
  }

  /** Moves the files to where models lie; answers their paths. */
  async #place({ source }: FetchedModel, name: string): Promise<string[]> {
    const folder = join(this.#options.modelsFolder, name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const files = source.files.map(({ path }) => ({ from: path, to: join(folder, basename(path)) }));
    for (const { from, to } of files) await rename(from, to);
    return files.map(({ to }) => to);
  }
}

const stopped = new LibraryError('Stopped', 'The download was stopped.');
const closed = new LibraryError('Stopped', 'The member has ended.');

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
