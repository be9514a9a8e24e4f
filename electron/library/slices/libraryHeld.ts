import { StageFileDamaged } from '../../pipeline/forming/stageFiles.ts';
import { LibraryError } from '../libraryError.ts';
import type { ModelLibrary } from '../modelLibrary.ts';
import { type CheckOptions, damagedTensors } from './damagedTensors.ts';
import type { FileHasher } from './fileHasher.ts';
import type { HeldModel, HeldModels } from './heldModel.ts';

/** How long a header that was read is good; whoever reads tensors holds the file against it each time it opens it. */
const GOOD_FOR_MS = 10_000;

/** The models of the library, as slices are taken from them. */
export class LibraryHeld implements HeldModels {
  readonly #library: ModelLibrary;
  readonly #hasher: FileHasher;
  readonly #found = new Map<string, { at: number; held: Promise<HeldModel | undefined> }>();

  constructor(library: ModelLibrary, hasher: FileHasher) {
    this.#library = library;
    this.#hasher = hasher;
  }

  find(model: string): Promise<HeldModel | undefined> {
    const now = performance.now();
    for (const [id, { at }] of this.#found) if (now - at > GOOD_FOR_MS) this.#found.delete(id);
    const known = this.#found.get(model)?.held ?? this.#open(model);
    if (!this.#found.has(model)) this.#found.set(model, { at: now, held: known });
    known.then(
      // A model may come at any moment.
      (held) => held === undefined && this.#found.delete(model),
      () => this.#found.delete(model),
    );
    return known;
  }

  async check(model: string, { signal, onProgress }: CheckOptions): Promise<void> {
    try {
      await this.#library.assertWhole(model, {
        signal,
        onProgress,
        differing: async ({ files, tensors }, hashes) => {
          const places = [...tensors.values()].map(({ name, file, offset, byteLength }) => ({
            tensor: name,
            path: files[file]?.path ?? '',
            at: offset,
            bytes: byteLength,
            sha256: hashes.get(name) ?? '',
          }));
          return (await damagedTensors(this.#hasher, places, { signal, onProgress })).map(({ tensor }) => tensor);
        },
      });
      // It may have been read for the first time.
      this.#found.delete(model);
    } catch (cause) {
      this.#found.delete(model);
      throw cause instanceof LibraryError ? new StageFileDamaged(cause.message, { cause }) : cause;
    }
  }

  async remains(model: string): Promise<HeldModel | undefined> {
    const found = await this.#library.remains(model);
    return found === null ? undefined : { source: found.source, hashes: found.hashes.tensors };
  }

  /** Looks at a model anew when it is asked for next. */
  forget(model: string): void {
    this.#found.delete(model);
  }

  async #open(model: string): Promise<HeldModel | undefined> {
    const listed = this.#library.state().models.find(({ id }) => id === model);
    if (listed?.state !== 'ready') return undefined;
    // What has changed or gone by now counts as not being here; the library tells its owner.
    const source = await this.#library.open(model).catch(() => undefined);
    if (source === undefined) return undefined;
    const hashes = listed.hashed ? (await this.#library.hashes(model)).tensors : new Map<string, string>();
    return { source, hashes, weights: listed.weights ?? undefined };
  }
}
