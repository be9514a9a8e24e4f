import { GgufError } from '../../gguf/ggufError.ts';
import { headerBytes } from '../../gguf/headerBytes.ts';
import { type FileReader, openFileReader } from '../../gguf/rangeReader.ts';
import { type DescribeModelReply, HashWanted, type TensorHash } from '../../wire/generated/roomful/v1/slices.ts';
import type { SlicePart } from '../../wire/sliceRequests.ts';
import type { SendGate, SliceReader, SliceSource } from '../../wire/slicesService.ts';
import { CallRefused } from '../../wire/wireError.ts';
import type { FileHasher } from './fileHasher.ts';
import type { HeldFiles, HeldModel, HeldModels, HeldParts } from './heldModel.ts';

export interface SliceHolderOptions {
  held: Pick<HeldModels, 'find'>;
  /** What was received of a model that is not held; undefined where nothing was. */
  parts?: (model: string) => Promise<HeldParts | undefined>;
  /** Hears that a tensor is not what was recorded, because somebody asked what lies on the disk. */
  onDamaged?: (model: string) => void;
  /** Decides when hashing may go on. */
  gate: SendGate;
  hasher: FileHasher;
}

/** Gives the models of this member to others. No path of a file ever leaves it, in a message neither. */
export class SliceHolder implements SliceSource {
  readonly #options: SliceHolderOptions;
  /** What was computed because nothing was recorded, by content id, tensor and time of change. */
  readonly #computed = new Map<string, Promise<string>>();

  constructor(options: SliceHolderOptions) {
    this.#options = options;
  }

  async describe(model: string): Promise<DescribeModelReply> {
    const { source } = await this.#find(model);
    const headers = headerBytes(source);
    const files = source.files.map(({ bytes }, index) => ({ bytes, headerBytes: headers[index] ?? 0 }));
    return { files, sampleSha256: source.sampleSha256 };
  }

  async open(model: string): Promise<SliceReader> {
    return this.#slices(await this.#findAny(model));
  }

  async *hash(
    model: string,
    tensors: readonly string[],
    wanted: HashWanted,
    signal: AbortSignal,
  ): AsyncGenerator<TensorHash, void, void> {
    const found = await this.#findAny(model);
    const { hashes } = found;
    const slices = this.#slices(found);
    try {
      for (const tensor of tensors) {
        const recorded = wanted === HashWanted.HASH_WANTED_ON_DISK ? undefined : hashes.get(tensor);
        const sha256 =
          recorded ??
          (wanted === HashWanted.HASH_WANTED_RECORDED
            ? ''
            : await this.#compute(model, slices, tensor, wanted === HashWanted.HASH_WANTED_ON_DISK, signal));
        const known = hashes.get(tensor);
        if (sha256 !== '' && known !== undefined && sha256 !== known) this.#options.onDamaged?.(model);
        yield { tensor, sha256: Buffer.from(sha256, 'hex'), recorded: recorded !== undefined };
      }
    } finally {
      await slices.close();
    }
  }

  #compute(model: string, slices: HeldSlices, tensor: string, afresh: boolean, signal: AbortSignal): Promise<string> {
    const key = `${model} ${slices.changedAt(tensor)} ${tensor}`;
    const known = this.#computed.get(key);
    if (known !== undefined && !afresh) return known;
    const computing = this.#hashTensor(slices, tensor, signal);
    this.#computed.set(key, computing);
    computing.catch(() => this.#computed.delete(key));
    return computing;
  }

  async #hashTensor(slices: HeldSlices, tensor: string, signal: AbortSignal): Promise<string> {
    const { path, ...range } = await slices.placeOf(tensor);
    try {
      return await this.#options.hasher.hash(path, range, { signal, step: () => this.#options.gate.begin(0, signal) });
    } catch (cause) {
      signal.throwIfAborted();
      throw unreadable(cause);
    }
  }

  /** Whole, else what was received of it. */
  async #findAny(model: string): Promise<HeldModel | HeldParts> {
    const held = await this.#options.held.find(model);
    return held ?? (await this.#options.parts?.(model)) ?? this.#find(model);
  }

  #slices(found: HeldModel | HeldParts): HeldSlices {
    return 'source' in found
      ? new HeldSlices(found.source, headerBytes(found.source))
      : new HeldSlices(found.files, []);
  }

  async #find(model: string): Promise<HeldModel> {
    const held = await this.#options.held.find(model);
    if (held === undefined) throw new CallRefused('NotHeld', 'This member does not hold that model, or not any more.');
    return held;
  }
}

/** The files of one model, opened as they are needed. */
class HeldSlices implements SliceReader {
  readonly #source: HeldFiles;
  readonly #headers: readonly number[];
  readonly #readers = new Map<number, Promise<FileReader>>();

  /** `headers`: bytes before the first tensor of each file, where they are given away too. */
  constructor(source: HeldFiles, headers: readonly number[]) {
    this.#source = source;
    this.#headers = headers;
  }

  /** Where a tensor lies; rejects where its file has changed. */
  async placeOf(name: string): Promise<{ path: string; at: number; bytes: number }> {
    const { file, offset, byteLength } = this.#tensor(name);
    try {
      const { path } = await this.#reader(file);
      return { path, at: offset, bytes: byteLength };
    } catch (cause) {
      if (cause instanceof GgufError) throw changed(cause);
      throw cause;
    }
  }

  changedAt(tensor: string): number {
    return this.#source.files[this.#tensor(tensor).file]?.changedAt ?? 0;
  }

  check(part: SlicePart): void {
    const bytes = part.tensor === undefined ? this.#headers[part.header] : this.#tensor(part.tensor).byteLength;
    if (bytes === undefined || part.offset + part.bytes > bytes) {
      throw new CallRefused('BadRequest', 'The model has no such part.');
    }
  }

  async read(part: SlicePart, offset: number, target: Uint8Array): Promise<void> {
    const { file, at } =
      part.tensor === undefined
        ? { file: part.header, at: 0 }
        : { file: this.#tensor(part.tensor).file, at: this.#tensor(part.tensor).offset };
    try {
      const reader = await this.#reader(file);
      if ((await reader.read(at + offset, target)) < target.byteLength) throw changed();
    } catch (cause) {
      // Messages of that folder name the file.
      if (cause instanceof GgufError) throw changed(cause);
      throw cause instanceof CallRefused ? cause : unreadable(cause);
    }
  }

  async close(): Promise<void> {
    const open = [...this.#readers.values()];
    this.#readers.clear();
    for (const reader of await Promise.allSettled(open)) if (reader.status === 'fulfilled') await reader.value.close();
  }

  #tensor(name: string) {
    const tensor = this.#source.tensors.get(name);
    if (tensor === undefined) throw new CallRefused('BadRequest', 'The model has no such tensor.');
    return tensor;
  }

  #reader(index: number): Promise<FileReader> {
    const open = this.#readers.get(index) ?? this.#openReader(index);
    this.#readers.set(index, open);
    open.catch(() => {});
    return open;
  }

  async #openReader(index: number): Promise<FileReader> {
    const file = this.#source.files[index];
    if (file === undefined) throw new CallRefused('BadRequest', 'The model has no such file.');
    const reader = await openFileReader(file.path);
    if (reader.size === file.bytes && reader.changedAt === file.changedAt) return reader;
    await reader.close();
    throw changed();
  }
}

function changed(cause?: unknown): CallRefused {
  return new CallRefused('NotHeld', "The holder's file of this model has changed or gone; import it there again.", {
    cause,
  });
}

function unreadable(cause: unknown): CallRefused {
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return new CallRefused('Failed', `The holder's disk does not give the model's bytes${code}.`, { cause });
}
