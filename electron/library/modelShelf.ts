import { checkServable } from '../gguf/checkServable.ts';
import { GgufError } from '../gguf/ggufError.ts';
import { modelFingerprint } from '../gguf/modelFingerprint.ts';
import { modelId } from '../gguf/modelId.ts';
import { type ModelSource, openModel } from '../gguf/openModel.ts';
import { CopyCheck } from './copyCheck.ts';
import { type FileMark, markFile, markFiles, sameBytes, sameMarks } from './fileMark.ts';
import { HashQueue, type HashRun } from './hashQueue.ts';
import { LibraryError } from './libraryError.ts';
import type { LibraryEntry, LibraryFile } from './libraryFile.ts';
import type { LibraryModel, ModelOrigin, ModelState, Verification } from './libraryState.ts';
import { differences, hashModel, type ModelHashes, weightsId } from './modelHashes.ts';
import { whatDecayed } from './whatDecayed.ts';

/** Of one core, for a verification that somebody asked for. */
const VERIFY_SHARE = 0.9;

export interface ModelShelfOptions {
  file: Pick<LibraryFile, 'readHashes' | 'writeHashes' | 'dropHashes'>;
  entries: readonly LibraryEntry[];
  /** Writes all that is to outlive a restart. */
  keep(): Promise<void>;
  /** After every change of what `models` answers, the progress of hashing included. */
  onChange(): void;
}

/** Where a model came from. */
export interface PutOptions {
  origin: ModelOrigin;
  /** The reference it was downloaded by. */
  from?: string;
  /** SHA-256 of its files as the hub publishes them, in the order of the set. */
  published?: string[] | null;
  /** Made of these very bytes already. */
  hashes?: ModelHashes;
}

/** How a model is read from end to end. */
export interface WholeOptions {
  signal: AbortSignal;
  onProgress?: ((done: number, total: number) => void) | undefined;
  /** Reads its tensors and answers which are not what they should be. */
  differing(source: ModelSource, hashes: ReadonlyMap<string, string>): Promise<string[]>;
}

/** How long a model that has been read counts as what it was, while the file system knows of no change, ms. */
const LATELY_MS = 10 * 60_000;
/** Between two looks how far hashing is, ms. */
const FOLLOW_MS = 250;

/** What is known of a model besides what is kept. */
interface Held {
  entry: LibraryEntry;
  state: ModelState;
  problem: string | null;
  hashing: number | null;
  verifying: number | null;
  verified: Verification | null;
  /** Marks of files that have been found to be others, and need not be read again. */
  judged: string | null;
  /** When all of it was last read and found to be what it was, ms since 1970. */
  wholeAt: number | null;
}

/** The models of the library by content id: whether their files are as they were, and the hashes of what they hold. */
export class ModelShelf {
  readonly #options: ModelShelfOptions;
  readonly #models = new Map<string, Held>();
  readonly #hashes: HashQueue;
  readonly #copies = new CopyCheck((id, signal) => this.hashes(id, signal));
  readonly #closing = new AbortController();

  constructor(options: ModelShelfOptions) {
    this.#options = options;
    this.#hashes = new HashQueue((id, run) => this.#hash(id, run));
    for (const entry of options.entries) this.#models.set(entry.id, heldOf(entry));
  }

  entries(): LibraryEntry[] {
    return [...this.#models.values()].map(({ entry }) => entry);
  }

  /** By name. */
  models(): LibraryModel[] {
    return [...this.#models.values()].map(shown).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  model(id: string): LibraryModel {
    return shown(this.#held(id));
  }

  /**
   * Takes a model in, given its file or any file of its set. A copy of a model that is here already changes nothing as
   * long as the first one is there; both are read whole before one counts as a copy of the other, and what only looks
   * like one is refused.
   */
  async put(path: string, { origin, from, published, hashes }: PutOptions): Promise<LibraryModel> {
    const source = await openModel(path);
    // Refuses what could never be served, now and not when it is.
    checkServable(source);
    const marks = await marksOf(source);
    const id = modelFingerprint(source);
    const before = this.#models.get(id);
    const marksBefore = before?.entry.files ?? [];
    if (before !== undefined) {
      await this.#check(before);
      const isHere = marks.some((mark) => before.entry.files.some((file) => file.path === mark.path));
      if (before.state === 'ready' && !isHere) {
        await this.#copies.assertCopy(before.entry, { source, marks, hashes, waits: origin !== 'folder' });
        return shown(before);
      }
    }
    const isSame =
      before !== undefined && (before.state === 'ready' || before.state === 'gone') && sameBytes(marksBefore, marks);
    const entry: LibraryEntry = {
      ...aboutModel(id, source),
      files: marks,
      origin: before !== undefined && origin === 'folder' ? before.entry.origin : origin,
      from: from ?? before?.entry.from ?? null,
      published: published ?? (isSame ? before.entry.published : null),
      addedAt: before?.entry.addedAt ?? Date.now(),
      hashed: hashes?.model === id || (isSame && before.entry.hashed && sameMarks(marksBefore, marks)),
      sample: source.sampleSha256,
      weights: hashes?.model === id ? weightsId(hashes) : isSame ? before.entry.weights : null,
      damage: null,
    };
    // It begins a life of its own: what was known of other bytes does not count against it.
    if (!isSame || hashes !== undefined) await this.#forgetHashes(id);
    if (hashes?.model === id) await this.#options.file.writeHashes(hashes);
    const held = heldOf(entry);
    this.#models.set(id, held);
    await this.#changed();
    if (!entry.hashed) this.#hashes.later(id);
    return shown(held);
  }

  /** Looks at the files of every model. */
  async check(): Promise<void> {
    for (const held of [...this.#models.values()]) {
      await this.#check(held);
      if (held.state === 'ready' && !held.entry.hashed) this.#hashes.later(held.entry.id);
    }
  }

  /** The headers of a model. Rejects with LibraryError('FileGone') or ('FileChanged') where its files are not as they were. */
  async open(id: string): Promise<ModelSource> {
    const held = this.#held(id);
    await this.#check(held);
    const source = held.state === 'ready' ? await this.#read(held) : null;
    if (source !== null) return source;
    throw new LibraryError(held.state === 'gone' ? 'FileGone' : 'FileChanged', held.problem ?? 'It is not as it was.');
  }

  /** The hashes of a model; where they are not known yet they are made now. The signal ends the wait. */
  async hashes(id: string, signal?: AbortSignal): Promise<ModelHashes> {
    await this.open(id);
    const { hashed, weights } = this.#held(id).entry;
    const kept = hashed ? await this.#options.file.readHashes(id) : null;
    // The table may have decayed as well.
    return kept !== null && weightsId(kept) === weights ? kept : this.#hashes.now(id, signal);
  }

  /** See ModelLibrary. */
  async assertWhole(id: string, { signal, onProgress, differing }: WholeOptions): Promise<void> {
    const source = await this.open(id);
    const held = this.#held(id);
    const { files, hashed, weights } = held.entry;
    if (held.wholeAt !== null && Date.now() - held.wholeAt < LATELY_MS) return;
    const kept = hashed ? await this.#options.file.readHashes(id) : null;
    if (kept === null || weightsId(kept) !== weights) {
      // It is read for the first time, and hashed then; nothing is read twice.
      const total = totalBytes(source.files);
      const follow = setInterval(() => onProgress?.((held.hashing ?? 0) * total, total), FOLLOW_MS);
      await this.#hashes.now(id, signal).finally(() => clearInterval(follow));
      return;
    }
    const damaged = await differing(source, kept.tensors);
    const now = await markFiles(files.map(({ path }) => path));
    if (now === null || !sameMarks(files, now)) {
      throw new LibraryError('FileChanged', `${firstPath(held.entry)} changed while it was read; try again.`);
    }
    if (damaged.length === 0) {
      held.wholeAt = Date.now();
      return;
    }
    await this.#lose(held, 'damaged', notAsItWas(held.entry, damaged));
    throw new LibraryError('FileChanged', held.problem ?? '');
  }

  /** See ModelLibrary. */
  async remains(id: string): Promise<{ source: ModelSource; hashes: ModelHashes } | null> {
    const held = this.#models.get(id);
    const hashes = held?.state === 'damaged' ? await this.#options.file.readHashes(id) : null;
    if (held === undefined || hashes === null || weightsId(hashes) !== held.entry.weights) return null;
    const found = await opened(held.entry);
    if (found instanceof GgufError) return null;
    const source = { ...found, sampleSha256: held.entry.sample };
    return modelFingerprint(source) === id ? { source, hashes } : null;
  }

  /** Reads a model from end to end and compares it with what is known of it; the model shows how far that is. */
  async verify(id: string, signal: AbortSignal): Promise<Verification> {
    const held = this.#held(id);
    held.verifying = 0;
    this.#options.onChange();
    let outcome: Verification = { at: 0, compared: false, damaged: [], problem: null };
    try {
      const source = await this.open(id);
      const { published, files } = held.entry;
      const kept = await this.#options.file.readHashes(id);
      const total = totalBytes(source.files);
      const onProgress = (bytes: number): void => {
        held.verifying = bytes / total;
        this.#options.onChange();
      };
      const found = await hashModel(source, { signal, onProgress, share: () => VERIFY_SHARE });
      const damaged = await this.#learn(id, files, kept, found);
      outcome = { ...outcome, compared: kept !== null || published !== null, damaged };
      return outcome;
    } catch (cause) {
      outcome = { ...outcome, problem: cause instanceof Error ? cause.message : String(cause) };
      throw cause;
    } finally {
      held.verifying = null;
      held.verified = { ...outcome, at: Date.now() };
      this.#options.onChange();
    }
  }

  async drop(id: string): Promise<void> {
    this.#held(id);
    this.#models.delete(id);
    await this.#forgetHashes(id);
    await this.#changed();
  }

  async close(): Promise<void> {
    this.#closing.abort(new LibraryError('Stopped', 'The member is closing.'));
    await this.#copies.close();
    await this.#hashes.close();
  }

  #held(id: string): Held {
    const held = this.#models.get(id);
    if (held === undefined) throw new LibraryError('UnknownModel', `No model of the library has the id ${id}.`);
    return held;
  }

  async #check(held: Held): Promise<void> {
    const { entry } = held;
    const marks = await markFiles(entry.files.map(({ path }) => path));
    if (marks === null) {
      await this.#set(
        held,
        'gone',
        `${await firstGone(entry)} was moved, renamed or deleted; import it from where it is.`,
      );
      return;
    }
    if (sameMarks(entry.files, marks)) {
      if (held.state === 'gone') await this.#set(held, entry.damage === null ? 'ready' : 'damaged', entry.damage);
      return;
    }
    const judged = JSON.stringify(marks);
    if (held.judged === judged) return;
    const found = await opened(entry);
    if (!(found instanceof GgufError) && modelFingerprint(found) === entry.id) {
      held.entry = { ...entry, files: await marksOf(found), hashed: false, damage: null };
      held.wholeAt = null;
      await this.#set(held, 'ready', null);
      this.#hashes.later(entry.id);
    } else {
      await this.#isAnother(held, found, 'changed');
      held.judged = judged;
    }
  }

  /** The headers of a model that seems to be as it was; null, and it counts as damaged, where that is not so. */
  async #read(held: Held): Promise<ModelSource | null> {
    const found = await opened(held.entry);
    if (!(found instanceof GgufError) && modelFingerprint(found) === held.entry.id) return found;
    await this.#isAnother(held, found, 'damaged');
    return null;
  }

  /** The files are not what they were; where their headers are, the tensors that differ are named. */
  async #isAnother(held: Held, found: ModelSource | GgufError, state: 'changed' | 'damaged'): Promise<void> {
    const { entry } = held;
    if (found instanceof GgufError) return this.#lose(held, state, found.message);
    const path = firstPath(entry);
    const hasItsHeaders = modelFingerprint({ ...found, sampleSha256: entry.sample }) === entry.id;
    const kept = hasItsHeaders ? await this.#options.file.readHashes(entry.id) : null;
    const now =
      kept === null ? null : await hashModel(found, { signal: this.#closing.signal, share: () => VERIFY_SHARE });
    const differ = kept === null || now === null ? [] : differences(kept, now, entry.files);
    // Whoever trains a model further changes most of it; a disk does not.
    if (kept !== null && differ.length <= kept.tensors.size / 2)
      return this.#lose(held, 'damaged', notAsItWas(entry, differ));
    const what = state === 'changed' ? 'not the model any more that was imported' : 'not what it was';
    await this.#lose(held, state, `${path} is ${what}; import it again.`);
  }

  async #lose(held: Held, state: 'changed' | 'damaged', problem: string): Promise<void> {
    if (state === 'damaged') held.entry = { ...held.entry, hashed: false, damage: problem };
    await this.#set(held, state, problem);
  }

  async #set(held: Held, state: ModelState, problem: string | null): Promise<void> {
    if (held.state === state && held.problem === problem && state !== 'ready') return;
    held.state = state;
    held.problem = problem;
    await this.#changed();
  }

  /** Makes the hashes of a model, for the queue. */
  async #hash(id: string, { signal, share }: HashRun): Promise<ModelHashes> {
    const source = await this.open(id);
    const held = this.#held(id);
    const { files } = held.entry;
    const total = totalBytes(source.files);
    const onProgress = (bytes: number): void => {
      held.hashing = bytes / total;
      this.#options.onChange();
    };
    try {
      const found = await hashModel(source, { signal, share, onProgress });
      const damaged = await this.#learn(id, files, await this.#options.file.readHashes(id), found);
      if (damaged.length > 0) throw new LibraryError('FileChanged', held.problem ?? 'It is not as it was.');
      return found;
    } finally {
      held.hashing = null;
      this.#options.onChange();
    }
  }

  /** Keeps hashes that agree with what was known before; else the model is damaged. Answers what differs. */
  async #learn(id: string, files: FileMark[], kept: ModelHashes | null, found: ModelHashes): Promise<string[]> {
    const held = this.#held(id);
    const now = await markFiles(files.map(({ path }) => path));
    if (now === null || !sameBytes(files, now)) {
      throw new LibraryError('FileChanged', `${firstPath(held.entry)} changed while it was read; try again.`);
    }
    const differ = kept === null ? [] : differences(kept, found, files);
    const decayed = whatDecayed({
      recorded: held.entry.weights,
      table: kept && { weights: weightsId(kept), agrees: differ.length === 0 },
      found: weightsId(found),
    });
    const damaged = decayed === 'tensors' ? differ : decayed === 'model' ? [firstPath(held.entry)] : [];
    for (const [index, hash] of (held.entry.published ?? []).entries()) {
      const path = files[index]?.path;
      if (path !== undefined && found.files[index] !== hash && !damaged.includes(path)) damaged.push(path);
    }
    if (damaged.length > 0) {
      await this.#lose(held, 'damaged', notAsItWas(held.entry, damaged));
      return damaged;
    }
    if (kept === null || decayed === 'table') await this.#options.file.writeHashes(found);
    held.entry = { ...held.entry, hashed: true, weights: weightsId(found), damage: null };
    held.wholeAt = Date.now();
    await this.#changed();
    return damaged;
  }

  async #forgetHashes(id: string): Promise<void> {
    this.#hashes.drop(id);
    await this.#options.file.dropHashes(id);
  }

  async #changed(): Promise<void> {
    await this.#options.keep();
    this.#options.onChange();
  }
}

/** One plain line that names what differs. */
function notAsItWas(entry: LibraryEntry, [first, ...more]: readonly string[]): string {
  const what = first === undefined ? '' : `: ${first}${more.length > 0 ? ` and ${more.length} more` : ''}`;
  return `${firstPath(entry)} is not what it was${what}; fetch it again, or import it again to take it as it is.`;
}

function heldOf(entry: LibraryEntry): Held {
  const { damage } = entry;
  const state = damage === null ? 'ready' : 'damaged';
  return { entry, state, problem: damage, hashing: null, verifying: null, verified: null, judged: null, wholeAt: null };
}

/** What the headers of a model say now, or why they cannot be read. */
async function opened(entry: LibraryEntry): Promise<ModelSource | GgufError> {
  try {
    return await openModel(firstPath(entry));
  } catch (cause) {
    if (cause instanceof GgufError) return cause;
    throw cause;
  }
}

function totalBytes(files: readonly { bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function firstPath({ files }: LibraryEntry): string {
  return files[0]?.path ?? '';
}

async function firstGone({ files }: LibraryEntry): Promise<string> {
  for (const { path } of files) if ((await markFile(path)) === null) return path;
  return files[0]?.path ?? '';
}

/** Marks that are those of the headers that were read. */
async function marksOf(source: ModelSource): Promise<FileMark[]> {
  const marks = await markFiles(source.files.map(({ path }) => path));
  const sizes = source.files.every(({ bytes }, index) => marks?.[index]?.bytes === bytes);
  if (marks !== null && sizes) return marks;
  throw new LibraryError('FileChanged', `${source.files[0]?.path} changed while it was read; import it again.`);
}

function aboutModel(
  id: string,
  { summary }: ModelSource,
): Omit<
  LibraryEntry,
  'files' | 'origin' | 'from' | 'published' | 'addedAt' | 'hashed' | 'sample' | 'weights' | 'damage'
> {
  const { name: title, chatTemplate, ...about } = summary;
  return { id, name: modelId(summary), title, ...about, hasChatTemplate: chatTemplate !== null };
}

function shown({ entry, state, problem, hashing, verifying, verified }: Held): LibraryModel {
  const { files, published: _, damage: __, sample: ___, ...rest } = entry;
  const condition = { state, problem, hashing, verifying, verified };
  return { ...rest, ...condition, bytes: totalBytes(files), files: files.map(({ path }) => path) };
}
