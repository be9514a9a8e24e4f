import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { headerBytes } from '../../gguf/headerBytes.ts';
import { modelFingerprint } from '../../gguf/modelFingerprint.ts';
import { type ModelSource, openModelOf } from '../../gguf/openModel.ts';
import type { FileReader } from '../../gguf/rangeReader.ts';
import { readCheckedHeader } from '../../gguf/readCheckedHeader.ts';
import { writeVocabulary } from '../../gguf/writeVocabulary.ts';
import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import { SliceStream } from '../../wire/sliceStream.ts';
import { SlicesClient } from '../../wire/slicesClient.ts';
import type { HeldModels } from './heldModel.ts';
import { type HolderPeers, isFinal } from './holderPeers.ts';
import { SliceError } from './sliceError.ts';

/** A model by its header, and where the bytes of that lie on this disk. */
export interface KnownModel {
  source: ModelSource;
  /** For each file of the set one that begins with the same header: the file itself, or a copy of its header alone. */
  headerPaths: string[];
  /** Whether the model's own files lie on this disk. */
  isHeld: boolean;
}

/** The header of a file of a model, read now and held against its hash. Rejects with a GgufError where it is another. */
export async function headerOf({ source, headerPaths }: KnownModel, file: number): Promise<Buffer> {
  const [known, path] = [source.files[file], headerPaths[file]];
  if (known === undefined || path === undefined) throw new RangeError(`the model has no file ${file}`);
  return readCheckedHeader({ ...known, path });
}

export interface ModelHeadersOptions {
  folder: string;
  held: Pick<HeldModels, 'find'>;
  peers: HolderPeers;
  /** How long holders that do not answer are asked again, ms. */
  patienceMs: number;
}

/** As the reader of headers has it; what a holder claims beyond is not fetched. */
const MOST_HEADER_BYTES = 300 << 20;
const MOST_FILES = 1024;
const RETRY_MS = 300;
const DESCRIBED_FILE = 'described.json';

/** What a holder says of a model beside its headers. */
const describedSchema = z.strictObject({
  files: z.array(z.strictObject({ bytes: z.int().positive(), headerBytes: z.int().positive() })).min(1),
  sampleSha256: z.string().regex(/^[0-9a-f]{64}$/),
});
type Described = z.infer<typeof describedSchema>;

/**
 * The headers of models, from their own files, from copies that were kept, or from a holder. A content id covers every byte
 * of the headers, so whatever comes from elsewhere is checked by it, and a copy is each time that it is read.
 */
export class ModelHeaders {
  readonly #options: ModelHeadersOptions;
  readonly #open = new Map<string, Promise<KnownModel>>();

  constructor(options: ModelHeadersOptions) {
    this.#options = options;
  }

  /** Rejects with a SliceError, or the signal's reason. */
  async find(model: string, holders: readonly ModelHolder[], signal: AbortSignal): Promise<KnownModel> {
    const held = await this.#options.held.find(model);
    if (held !== undefined) {
      return { source: held.source, headerPaths: held.source.files.map(({ path }) => path), isHeld: true };
    }
    const known = this.#open.get(model) ?? this.#kept(model);
    this.#open.set(model, known);
    try {
      const kept = await known;
      for (const file of kept.source.files.keys()) await headerOf(kept, file);
      return kept;
    } catch {
      // Not there, not whole or not what it was: it is fetched anew.
      this.#open.delete(model);
    }
    await this.#fetch(model, holders, signal);
    const fetched = this.#kept(model);
    this.#open.set(model, fetched);
    fetched.catch(() => this.#open.delete(model));
    return fetched;
  }

  /** Forgets a model whose folder has been removed. */
  forget(model: string): void {
    this.#open.delete(model);
  }

  /** Writes the metadata of a model alone to `path`. */
  async writeVocabulary(known: KnownModel, path: string, options: { signal?: AbortSignal } = {}): Promise<void> {
    const [header] = known.headerPaths;
    await writeVocabulary(known.source, path, { ...options, ...(header !== undefined && { header }) });
  }

  #folderOf(model: string): string {
    return join(this.#options.folder, model, 'header');
  }

  async #kept(model: string): Promise<KnownModel> {
    const folder = this.#folderOf(model);
    const described = describedSchema.parse(JSON.parse(await readFile(join(folder, DESCRIBED_FILE), 'utf8')));
    const headerPaths = described.files.map((_, index) => join(folder, `${index}.bin`));
    return { source: await parse(model, headerPaths, described), headerPaths, isHeld: false };
  }

  async #fetch(model: string, holders: readonly ModelHolder[], signal: AbortSignal): Promise<void> {
    if (holders.length === 0) throw new SliceError('NoHolder', 'No member has this model; import it again.');
    const refused = new Map<string, unknown>();
    let lastCause: unknown;
    for (const deadline = performance.now() + this.#options.patienceMs; performance.now() < deadline; ) {
      for (const holder of holders) {
        if (refused.has(holder.member)) continue;
        signal.throwIfAborted();
        try {
          await this.#fetchFrom(model, holder, signal);
          return;
        } catch (cause) {
          signal.throwIfAborted();
          lastCause = cause;
          if (isFinal(cause) || cause instanceof SliceError) refused.set(holder.member, cause);
          else this.#options.peers.failed(holder);
        }
      }
      if (refused.size === holders.length) break;
      await sleep(RETRY_MS, undefined, { signal });
    }
    if (lastCause instanceof SliceError) throw lastCause;
    const why = lastCause instanceof Error ? lastCause.message : String(lastCause);
    throw new SliceError('NoHolder', `No holder gives this model: ${why}`, { cause: lastCause });
  }

  async #fetchFrom(model: string, holder: ModelHolder, signal: AbortSignal): Promise<void> {
    const peer = await this.#options.peers.peer(holder);
    const client = new SlicesClient(peer);
    const reply = await client.describe(model).finally(() => client.close());
    const described = describedSchema.safeParse(reply);
    const bytes = reply.files.reduce((sum, file) => sum + file.headerBytes, 0);
    if (!described.success || reply.files.length > MOST_FILES || bytes > MOST_HEADER_BYTES)
      throw wrongModel(this.#options.peers.nameOf(holder.member));
    const { files } = described.data;
    const folder = this.#folderOf(model);
    const partial = `${folder}.partial`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true, mode: 0o700 });
    const stream = await SliceStream.open(peer, signal);
    try {
      for (const [index, file] of files.entries()) {
        const output = await open(join(partial, `${index}.bin`), 'w', 0o600);
        try {
          const range = { header: index, tensor: undefined, offset: 0, bytes: file.headerBytes };
          for await (const block of stream.read(model, [range], signal)) await output.writeFile(block);
        } finally {
          await output.close();
        }
      }
    } finally {
      stream.close();
    }
    const paths = files.map((_, index) => join(partial, `${index}.bin`));
    await parse(model, paths, described.data).catch((cause: unknown) => {
      throw wrongModel(this.#options.peers.nameOf(holder.member), cause);
    });
    const file = await open(join(partial, DESCRIBED_FILE), 'w', 0o600);
    await file.writeFile(JSON.stringify(described.data)).finally(() => file.close());
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
  }
}

function wrongModel(name: string, cause?: unknown): SliceError {
  return new SliceError('WrongModel', `What ${name} gives as this model is another one.`, { cause });
}

/** Reads the headers as if the rest of each file lay there too, and holds what they say against the content id. */
async function parse(model: string, paths: readonly string[], described: Described): Promise<ModelSource> {
  const { files: sizes, sampleSha256 } = described;
  const readers = await Promise.all(
    paths.map(async (path, index): Promise<FileReader> => {
      const header = await readFile(path);
      return {
        path,
        size: sizes[index]?.bytes ?? 0,
        changedAt: 0,
        read: async (offset, target) => {
          const found = Math.max(0, header.copy(target, 0, Math.min(offset, header.byteLength)));
          target.fill(0, found);
          return target.byteLength;
        },
        close: async () => {},
      };
    }),
  );
  const source = await openModelOf(readers, sampleSha256);
  const lengths = headerBytes(source);
  if (modelFingerprint(source) !== model || sizes.some((size, index) => size.headerBytes !== lengths[index])) {
    throw new SliceError('WrongModel', 'The header is not that of this model.');
  }
  return source;
}
