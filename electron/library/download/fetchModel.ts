import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { GgufError } from '../../gguf/ggufError.ts';
import { type ModelSource, openModel } from '../../gguf/openModel.ts';
import { LibraryError } from '../libraryError.ts';
import { hashModel, type ModelHashes } from '../modelHashes.ts';
import { downloadFiles } from './downloadThread.ts';
import { type RemoteFile, resolveFiles } from './hubClient.ts';
import { type IncomingFolder, sum } from './incomingFolder.ts';
import { folderOf, type ModelReference } from './modelReference.ts';

export interface FetchOptions {
  folder: IncomingFolder;
  /** Base address, with a slash at its end. */
  hub: string;
  token: string | null;
  signal: AbortSignal;
  patience: Patience;
  /** Bytes that a folder's disk has for this user. */
  freeBytes(folder: string): Promise<number>;
  onProgress(progress: FetchProgress): void;
  /** What of the model is on this disk already. */
  here: ModelsHere;
}

/** The models of this disk, to be looked through before anything is fetched. */
export interface ModelsHere {
  /** The content id of the model that consists of these very files; null where there is none. */
  whole(files: readonly RemoteFile[], reference: string): Promise<string | null>;
  /** Files that seem to be some of these, by name; what they hold is checked after. `folder`: where they would go to. */
  some(files: readonly RemoteFile[], folder: string): Promise<Map<string, { path: string; isOwn: boolean }>>;
}

export interface Patience {
  /** A transfer in which nothing arrives for so long is tried again, ms. */
  stallMs: number;
  /** Wait before the next try, ms, doubled each time. */
  pauseMs: number;
}

export interface FetchProgress {
  phase: 'resolving' | 'running' | 'checking';
  /** In `checking`, bytes that have been checked. */
  bytes: number;
  totalBytes: number | null;
}

/** A model that has arrived whole and is what it was meant to be. */
export interface FetchedModel {
  source: ModelSource;
  hashes: ModelHashes;
  /** Hashes of its files as the hub publishes them; null where it does not for each. */
  published: string[] | null;
}

/** Content id of the model that is here already; nothing was fetched. */
export interface HereAlready {
  id: string;
}

/** Tries without a byte of progress, before it gives up. */
const MOST_TRIES = 5;
/** The same where nobody answers for what has begun already, as after a start before the network is there. */
const MOST_TRIES_AWAY = 8;
/** Of one core, for hashing what has arrived. */
const CHECK_SHARE = 0.8;

/**
 * Brings a model into the folder and checks it: length, header, and the hashes that the hub publishes. It goes on after every
 * break as long as something arrives, asks anew where the files are (signed addresses expire), and fetches a file that turns
 * out wrong once more. What is on this disk already is not fetched. Rejects with LibraryError, one plain line, or with the signal's reason; what has arrived is kept
 * unless it is wrong.
 */
export async function fetchModel(
  reference: ModelReference,
  options: FetchOptions,
): Promise<FetchedModel | HereAlready> {
  const { folder } = options;
  for (let round = 1; ; round++) {
    // What was taken over from here and turned out wrong is fetched in the second round.
    const arrived = await transfer(reference, options, { reuses: round === 1 });
    if ('id' in arrived) return arrived;
    const { files, paths } = arrived;
    try {
      return await check(files, paths, options);
    } catch (cause) {
      if (!(cause instanceof LibraryError) || cause.code !== 'DownloadFailed') throw cause;
      await folder.discard();
      if (round === 2) throw cause;
    }
  }
}

async function transfer(
  reference: ModelReference,
  { folder, hub, token, signal, patience, freeBytes, onProgress, here }: FetchOptions,
  { reuses }: { reuses: boolean },
): Promise<{ files: RemoteFile[]; paths: string[] } | HereAlready> {
  let most = 0;
  const isLeft = (await folder.bytesOnDisk()) > 0;
  const pause = (tries: number): Promise<void> =>
    sleep(patience.pauseMs * 2 ** (tries - 1), undefined, { signal }).catch(() => signal.throwIfAborted());
  for (let tries = 1; ; tries++) {
    onProgress({ phase: 'resolving', bytes: most, totalBytes: null });
    let files: RemoteFile[];
    try {
      files = await resolveFiles(reference, { hub, token, signal });
    } catch (cause) {
      signal.throwIfAborted();
      const isAway = cause instanceof LibraryError && cause.code === 'Unreachable';
      if (!isAway || (most === 0 && !isLeft) || tries >= MOST_TRIES_AWAY) throw cause;
      await pause(tries);
      continue;
    }
    const id = reuses ? await here.whole(files, folder.reference) : null;
    if (id !== null) return { id };
    await folder.prepare(files);
    if (reuses) await folder.reuse(await here.some(files, folderOf(reference)));
    await folder.checkSpace(files, await freeBytes(folder.path));
    await folder.seed(files);
    const totalBytes = sum(files.map(({ bytes }) => bytes));
    const order = { folder: folder.path, files: files.map(({ url, name }) => ({ url, name })), token, hub };
    const before = most;
    const progress = (bytes: number): void => {
      most = Math.max(most, bytes);
      onProgress({ phase: 'running', bytes, totalBytes });
    };
    try {
      return { files, paths: await downloadFiles(order, { signal, stallMs: patience.stallMs, onProgress: progress }) };
    } catch (cause) {
      signal.throwIfAborted();
      const mayHeal = cause instanceof LibraryError && cause.code !== 'NoSpace';
      if (most > before) tries = 1;
      if (!mayHeal || tries >= MOST_TRIES) throw told(cause, folder.reference);
      await pause(tries);
    }
  }
}

function told(cause: unknown, reference: string): unknown {
  if (!(cause instanceof LibraryError) || cause.code === 'NoSpace') return cause;
  const message = `${reference} could not be downloaded: ${cause.message} Ask again to go on from there.`;
  return new LibraryError(cause.code, message, { cause });
}

async function check(
  files: readonly RemoteFile[],
  paths: readonly string[],
  { folder: { reference }, signal, onProgress }: FetchOptions,
): Promise<FetchedModel> {
  const wrong = (why: string, cause?: unknown): LibraryError =>
    new LibraryError('DownloadFailed', `${reference} did not arrive as it should: ${why}`, { cause });
  for (const [index, path] of paths.entries()) {
    const { size } = await stat(path);
    const expected = files[index]?.bytes ?? size;
    if (size !== expected) throw wrong(`${path} has ${size} bytes instead of ${expected}. Try again later.`);
  }
  const source = await openModel(paths[0] ?? '').catch((cause: unknown) => {
    throw cause instanceof GgufError ? wrong(cause.message, cause) : cause;
  });
  const totalBytes = source.files.reduce((total, { bytes }) => total + bytes, 0);
  const progress = (bytes: number): void => onProgress({ phase: 'checking', bytes, totalBytes });
  progress(0);
  const hashes = await hashModel(source, { signal, onProgress: progress, share: () => CHECK_SHARE });
  for (const [index, { name, sha256 }] of files.entries()) {
    if (sha256 !== null && hashes.files[index] !== sha256) {
      throw wrong(`the hash of ${name} is not the one that the hub publishes. Try again later.`);
    }
  }
  const published = files.map(({ sha256 }) => sha256).filter((hash) => hash !== null);
  return { source, hashes, published: published.length === files.length ? published : null };
}
