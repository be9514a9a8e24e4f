import { createHash, type Hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SourceChangedError } from '../gguf/ggufError.ts';
import { modelFingerprint } from '../gguf/modelFingerprint.ts';
import type { ModelSource } from '../gguf/openModel.ts';
import { type FileReader, openFileReader } from '../gguf/rangeReader.ts';
import type { TensorInfo } from '../gguf/readHeader.ts';

/**
 * The hashes of all that a model holds, all SHA-256 in lower-case hex. The table lies in the data folder as
 * `library/hashes/CONTENT_ID.json`; whoever receives a tensor checks its bytes by it.
 */
export interface ModelHashes {
  /** Content id, see `modelFingerprint`. */
  model: string;
  /** Of each file of the set, in its order; the hub publishes the same hash. */
  files: string[];
  /** By the tensor's name in the whole model: of its `byteLength` bytes, without padding. */
  tensors: ReadonlyMap<string, string>;
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The table as it lies on disk and travels: tensors as pairs, since a name may be anything, `__proto__` too. */
export const modelHashesSchema = z
  .strictObject({ model: sha256, files: z.array(sha256).min(1), tensors: z.array(z.tuple([z.string(), sha256])) })
  .transform(({ tensors, ...rest }): ModelHashes => ({ ...rest, tensors: new Map(tensors) }));

/** The counterpart of `modelHashesSchema`. */
export function encodeModelHashes({ tensors, ...rest }: ModelHashes): string {
  return JSON.stringify({ ...rest, tensors: [...tensors] });
}

/** One hash for all weights of a model, in hex: SHA-256 over a line `NAME SHA256` for each tensor, by name. */
export function weightsId({ tensors }: Pick<ModelHashes, 'tensors'>): string {
  const hash = createHash('sha256');
  for (const name of [...tensors.keys()].sort()) hash.update(`${name} ${tensors.get(name)}\n`);
  return hash.digest('hex');
}

export interface HashOptions {
  signal: AbortSignal;
  /** Bytes read so far, after each piece. */
  onProgress?: (bytes: number) => void;
  /** Of one core, above 0 and at most 1; the rest of the time it sleeps. Asked for before every rest. */
  share?: () => number;
}

/** Bytes read at a time: some 1 ms of hashing, so that the event loop stays free. */
const CHUNK_BYTES = 512 << 10;
/** Rest is taken in pieces of at least this many ms, since timers are no finer. */
const LEAST_REST_MS = 4;

/**
 * Reads a model once from end to end and hashes its files and tensors. Rejects with `SourceChangedError` where a file is no
 * longer the one whose header was read, with `GgufError` where it cannot be read, and with the signal's reason.
 */
export async function hashModel(model: ModelSource, options: HashOptions): Promise<ModelHashes> {
  const files: string[] = [];
  const tensors = new Map<string, string>();
  const pace = new Pace(options.share ?? (() => 1));
  let before = 0;
  for (const [index, file] of model.files.entries()) {
    const own = [...model.tensors.values()].filter((tensor) => tensor.file === index);
    const reader = await openFileReader(file.path);
    try {
      if (reader.size !== file.bytes || reader.changedAt !== file.changedAt) throw new SourceChangedError(file.path);
      const onProgress = (bytes: number): void => options.onProgress?.(before + bytes);
      files.push(await hashFile(reader, own, tensors, { pace, signal: options.signal, onProgress }));
    } finally {
      await reader.close();
    }
    before += file.bytes;
  }
  return { model: modelFingerprint(model), files, tensors };
}

interface FilePass {
  pace: Pace;
  signal: AbortSignal;
  onProgress: (bytes: number) => void;
}

async function hashFile(
  reader: FileReader,
  own: readonly TensorInfo[],
  hashes: Map<string, string>,
  { pace, signal, onProgress }: FilePass,
): Promise<string> {
  const whole = createHash('sha256');
  const walk = new TensorWalk(own, hashes);
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, reader.size));
  for (let at = 0; at < reader.size; ) {
    signal.throwIfAborted();
    const found = await reader.read(at, buffer.subarray(0, Math.min(CHUNK_BYTES, reader.size - at)));
    if (found === 0) throw new SourceChangedError(reader.path);
    const began = performance.now();
    const bytes = buffer.subarray(0, found);
    whole.update(bytes);
    walk.take(at, bytes);
    at += found;
    onProgress(at);
    await pace.rest(performance.now() - began, signal);
  }
  return whole.digest('hex');
}

/** Hashes tensors as the bytes of their file go by; they lie in the order of the header, none over another. */
class TensorWalk {
  readonly #tensors: readonly TensorInfo[];
  readonly #hashes: Map<string, string>;
  #index = 0;
  #hash: Hash | null = null;

  constructor(tensors: readonly TensorInfo[], hashes: Map<string, string>) {
    this.#tensors = tensors;
    this.#hashes = hashes;
  }

  /** `bytes` lie at `at` of the file. */
  take(at: number, bytes: Uint8Array): void {
    for (let tensor = this.#tensors[this.#index]; tensor !== undefined; tensor = this.#tensors[this.#index]) {
      const end = tensor.offset + tensor.byteLength;
      if (tensor.offset >= at + bytes.byteLength) return;
      this.#hash ??= createHash('sha256');
      this.#hash.update(bytes.subarray(Math.max(tensor.offset - at, 0), Math.max(end - at, 0)));
      if (end > at + bytes.byteLength) return;
      this.#hashes.set(tensor.name, this.#hash.digest('hex'));
      this.#hash = null;
      this.#index += 1;
    }
  }
}

/** Keeps work to a share of the time. */
class Pace {
  readonly #share: () => number;
  #owed = 0;

  constructor(share: () => number) {
    this.#share = share;
  }

  async rest(workedMs: number, signal: AbortSignal): Promise<void> {
    const share = this.#share();
    this.#owed += (workedMs * (1 - share)) / share;
    if (this.#owed < LEAST_REST_MS) return;
    const rest = this.#owed;
    this.#owed = 0;
    await sleep(rest, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** What is not the same: names of tensors, and paths of files that differ beside their tensors. */
export function differences(before: ModelHashes, now: ModelHashes, files: readonly { path: string }[]): string[] {
  const tensors = [...before.tensors].filter(([name, hash]) => now.tensors.get(name) !== hash).map(([name]) => name);
  if (tensors.length > 0) return tensors;
  return files.filter((_, index) => before.files[index] !== now.files[index]).map(({ path }) => path);
}
