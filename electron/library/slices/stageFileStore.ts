import { open, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { modelId } from '../../gguf/modelId.ts';
import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import {
  StageFileDamaged,
  type StageFileLease,
  type StageFileRequest,
  type StageFiles,
} from '../../pipeline/forming/stageFiles.ts';
import { formatBytes } from '../../planner/formatBytes.ts';
import type { SendGate } from '../../wire/slicesService.ts';
import { markFiles } from '../fileMark.ts';
import type { StageCheck } from '../libraryState.ts';
import { modelCalled } from '../modelCalled.ts';
import { bootId } from './bootId.ts';
import { damagedParts, fixedIsGood, goodTensors, hashFixed, isUnchanged } from './checkStageFiles.ts';
import type { CheckOptions } from './damagedTensors.ts';
import { chooseEvictions, type Room } from './diskBudget.ts';
import { ExpectedHashes } from './expectedHashes.ts';
import type { FileHasher } from './fileHasher.ts';
import type { HeldModels, HeldParts } from './heldModel.ts';
import { heldParts } from './heldParts.ts';
import type { HolderPeers } from './holderPeers.ts';
import { findLocalTensors } from './localTensors.ts';
import { ModelHeaders } from './modelHeaders.ts';
import { OneModel, weightsOf } from './oneModel.ts';
import { SliceError } from './sliceError.ts';
import { modelOf, type StageFolder, StageFolders, stageKey } from './stageFolders.ts';
import { EMBEDDING_FILE, type StageLayout, stageLayout, VOCABULARY_FILE, wholeRole } from './stageLayout.ts';
import { RECORD_FILE, type StageRecord, writeStageRecord } from './stageRecord.ts';
import { type TransferProgress, transferStage } from './stageTransfer.ts';
import { StageWriter } from './stageWriter.ts';
import { TransferJournal } from './transferJournal.ts';

export interface StageFileStoreOptions {
  /** Where stage files lie. */
  folder: string;
  /** Id of this member, which is no holder for itself. */
  self(): string;
  held: HeldModels;
  peers: HolderPeers;
  hasher: FileHasher;
  /** Decides when bytes may be taken from others. */
  gate: SendGate;
  /** Most bytes of all stage files; null for a share of the disk. */
  budget(): number | null;
  /** Hears of what is wrong with a holder or with files here and was put right. */
  onProblem(problem: SliceError): void;
  /** How long holders that give nothing are asked again, ms. */
  patienceMs?: number;
}

/** Of the disk, where nobody says otherwise. */
const DISK_SHARE = 0.2;
const PATIENCE_MS = 60_000;
/** How long files that have been read count as what they were, while the file system knows of no change, ms. */
const LATELY_MS = 10 * 60_000;
const RUNNING_FILE = 'running';
const JOURNAL_FILE = 'journal';

/**
 * The stage files of this member: made from what lies on this disk and from holders, kept for later plans, removed least
 * recently used first under a budget.
 *
 * A file is whole once its record is there; that is written after every tensor was checked and the files were flushed. A
 * whole file is given out after a look at its size and time of change alone, and read byte by byte while it loads
 * (`StageFileLease.check`), or before where those differ or the machine went down while the member ran, and when `verify`
 * is asked for; what is then damaged is fetched again before anybody gets the file.
 */
export class StageFileStore implements StageFiles {
  readonly headers: ModelHeaders;
  readonly #options: StageFileStoreOptions;
  readonly #folders: StageFolders;
  readonly #one: OneModel;
  readonly #boot: string;
  /** Stages whose files must be checked before they are given out. */
  readonly #suspect: Set<string>;
  /** Stages of which all has been read and was right, and how the file system saw them then. */
  readonly #whole = new Map<string, { at: number; marks: string }>();
  readonly #leases = new Map<string, number>();
  readonly #working = new Map<string, Promise<void>>();

  private constructor(options: StageFileStoreOptions, folders: StageFolders, boot: string, suspect: Set<string>) {
    this.#options = options;
    this.#folders = folders;
    this.#boot = boot;
    this.#suspect = suspect;
    const { folder, held, peers, patienceMs = PATIENCE_MS } = options;
    this.#one = new OneModel(options);
    this.headers = new ModelHeaders({ folder, held, peers, patienceMs });
  }

  static async open(options: StageFileStoreOptions): Promise<StageFileStore> {
    const folders = await StageFolders.open(options.folder);
    const boot = await bootId();
    const marker = join(options.folder, RUNNING_FILE);
    const before = await readFile(marker, 'utf8').catch(() => boot);
    const wentDown = before !== boot;
    await writeFile(marker, boot, { mode: 0o600 });
    const suspect = new Set(wentDown ? folders.list().map(({ key }) => key) : []);
    return new StageFileStore(options, folders, boot, suspect);
  }

  /** See StageFiles. */
  async provide(
    { model, startLayer, endLayer, holders }: StageFileRequest,
    { signal, onProgress = () => {} }: { signal: AbortSignal; onProgress?: (progress: TransferProgress) => void },
  ): Promise<StageFileLease> {
    const weights = weightsOf(holders);
    const held = await this.#options.held.find(model);
    const isRight = weights === null || (held?.weights ?? weights) === weights;
    if (held !== undefined && isRight && startLayer === 0 && endLayer === held.source.layers) {
      const path = held.source.files[0]?.path ?? '';
      return {
        file: { path, role: wholeRole(held.source), layers: endLayer, embedding: null, vocabulary: null },
        release: async () => {},
        check: (check) => this.#one.checkHeld(model, weights, check),
      };
    }
    const key = stageKey(model, startLayer, endLayer);
    this.#leases.set(key, (this.#leases.get(key) ?? 0) + 1);
    try {
      const folder = await this.#inTurn(key, signal, async () => {
        const others = holders.filter(({ member }) => member !== this.#options.self());
        const ready = this.#folders.get(key);
        if (ready !== undefined && !(await this.#one.hasWeights(ready, weights, others, signal))) await this.#drop(key);
        else if (ready !== undefined && (await this.#isGood(ready))) return ready;
        return this.#make(key, { startLayer, endLayer, model, holders: others }, weights, signal, onProgress);
      });
      await this.#folders.touch(folder);
      return this.#lease(folder);
    } catch (cause) {
      this.#release(key);
      throw cause;
    }
  }

  /** Whole stage files, and what they take. */
  list(): { model: string; startLayer: number; endLayer: number; bytes: number; usedAt: number; inUse: boolean }[] {
    return this.#folders.list().flatMap(({ key, record, usedAt }) => {
      if (record === null) return [];
      const { model, startLayer, endLayer, files } = record;
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      return [{ model, startLayer, endLayer, bytes, usedAt, inUse: this.#leases.has(key) }];
    });
  }

  /** The tensors of a model that lie in whole stage files here; undefined where there are none. */
  parts(model: string): Promise<HeldParts | undefined> {
    const trusted = this.#folders.list().filter(({ key }) => !this.#suspect.has(key));
    return heldParts(model, trusted);
  }

  /** What lies in the stage files of a model is read again before anybody gets it. */
  suspect(model: string): void {
    for (const { key, record } of this.#folders.list()) if (record?.model === model) this.#suspect.add(key);
  }

  /** The content id of a model of which parts lie here, whole or not, see `modelCalled`; null where there is none. */
  async called(called: string): Promise<string | null> {
    const models = [...new Set(this.#folders.list().map(({ key }) => modelOf(key)))];
    const named = await Promise.all(models.map(async (id) => ({ id, name: await this.nameOf(id), files: [] })));
    return modelCalled(named, called)?.id ?? null;
  }

  /** What clients call a model of which parts lie here; the content id where its header is not here any more. */
  async nameOf(model: string): Promise<string> {
    const known = await this.headers.find(model, [], new AbortController().signal).catch(() => null);
    return known === null ? model : modelId(known.source.summary);
  }

  /**
   * Reads every stage file of a model, or of all, and names what is damaged. That is fetched again from the holders, or from
   * this disk, where they have it; files that serve now are only named, and checked again before they are given out.
   */
  async *verify(
    { model, holders = [] }: { model?: string | undefined; holders?: readonly ModelHolder[] },
    signal: AbortSignal,
  ): AsyncGenerator<StageCheck, void, void> {
    for (const { key } of this.#folders.list()) {
      const folder = this.#folders.get(key);
      const record = folder?.record;
      if (folder === undefined || record === null || record === undefined) continue;
      if (model !== undefined && record.model !== model) continue;
      yield await this.#inTurn(key, signal, () => this.#verify(folder, record, holders, signal));
    }
  }

  /** Removes the stage files of a model that do not serve; answers the bytes that were freed. */
  async remove(model: string): Promise<number> {
    let freed = 0;
    for (const { key, bytes, inUse } of await this.#folders.kept((each) => this.#isInUse(each))) {
      if (modelOf(key) === model && !inUse && (await this.#free(key))) freed += bytes;
    }
    return freed;
  }

  /** Removes what is over the budget, least recently used first, and does not serve; answers the bytes that were freed. */
  async keepBudget(): Promise<number> {
    const { budget } = await this.#room();
    const kept = await this.#folders.kept((each) => this.#isInUse(each));
    const choice = chooseEvictions(kept, 0, { budget, free: 0 });
    let freed = 0;
    for (const { key, bytes, inUse } of kept) {
      const isOver = choice.fits ? choice.evict.includes(key) : !inUse;
      if (isOver && (await this.#free(key))) freed += bytes;
    }
    return freed;
  }

  /** The files are in order from now on, whatever becomes of the machine. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#working.values());
    await rm(join(this.#options.folder, RUNNING_FILE), { force: true });
  }

  #lease({ key, path, record }: StageFolder): StageFileLease {
    if (record === null) throw new RangeError('a stage is given out once its files are whole');
    const { role, layers, embedding } = record;
    let isHeld = true;
    return {
      file: {
        path: join(path, record.files[0]?.name ?? ''),
        role,
        layers,
        embedding: embedding === null ? null : { ...embedding, path: join(path, EMBEDDING_FILE) },
        vocabulary: record.files.some(({ name }) => name === VOCABULARY_FILE) ? join(path, VOCABULARY_FILE) : null,
      },
      release: async () => {
        if (!isHeld) return;
        isHeld = false;
        this.#release(key);
        const folder = this.#folders.get(key);
        if (folder !== undefined) await this.#folders.touch(folder);
      },
      check: (options) => this.#check(key, options),
    };
  }

  /** See StageFileLease. */
  async #check(key: string, options: CheckOptions): Promise<void> {
    const folder = this.#folders.get(key);
    const record = folder?.record ?? null;
    if (folder === undefined || record === null) return;
    const marks = await marksOf(folder, record);
    const whole = this.#whole.get(key);
    if (whole !== undefined && whole.marks === marks && Date.now() - whole.at < LATELY_MS) return;
    const damaged = await damagedParts(this.#options.hasher, folder, options);
    if (damaged.length === 0 && (await marksOf(folder, record)) === marks) {
      this.#whole.set(key, { at: Date.now(), marks });
      return;
    }
    this.#whole.delete(key);
    this.#suspect.add(key);
    const name = await this.nameOf(record.model);
    const { startLayer, endLayer } = record;
    const [first = 'it changed while it was read', ...more] = damaged;
    const what = more.length === 0 ? first : `${first} and ${more.length} more`;
    throw new StageFileDamaged(
      `The file of layers ${startLayer} to ${endLayer} of ${name} on this disk is damaged: ${what}.`,
    );
  }

  #release(key: string): void {
    const left = (this.#leases.get(key) ?? 1) - 1;
    if (left > 0) this.#leases.set(key, left);
    else this.#leases.delete(key);
  }

  #isInUse(key: string): boolean {
    return this.#leases.has(key) || this.#working.has(key);
  }

  /** One at a time for each stage; whoever comes later finds what the one before has made. */
  async #inTurn<Result>(key: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    for (let before = this.#working.get(key); before !== undefined; before = this.#working.get(key)) {
      await abortable(before, signal);
    }
    signal.throwIfAborted();
    const working = work();
    const settled = working.then(
      () => {},
      () => {},
    );
    this.#working.set(key, settled);
    void settled.then(() => {
      if (this.#working.get(key) === settled) this.#working.delete(key);
    });
    return working;
  }

  /** A look at what the file system says; the bytes were checked before the record was written. */
  async #isGood({ key, path, record }: StageFolder): Promise<boolean> {
    if (record === null || this.#suspect.has(key)) return false;
    return isUnchanged(path, record);
  }

  async #make(
    key: string,
    request: StageFileRequest,
    weights: string | null,
    signal: AbortSignal,
    onProgress: (progress: TransferProgress) => void,
  ): Promise<StageFolder> {
    const { model, startLayer, endLayer, holders } = request;
    const known = await this.headers.find(model, holders, signal);
    const layout = stageLayout(known.source, { start: startLayer, end: endLayer });
    const folder = await this.#folders.make(key);
    // Whole files that are not to be trusted as they are become unfinished ones of which everything lies there already.
    const expected = new ExpectedHashes((member) => this.#options.peers.nameOf(member));
    if (folder.record !== null)
      await this.#reopen(folder, folder.record, layout, await goodTensors(this.#options.hasher, folder, { signal }));
    await this.#makeRoom(key, layout);
    const journal = await TransferJournal.open(join(folder.path, JOURNAL_FILE), layout.digest, this.#boot);
    let writer: StageWriter | null = null;
    try {
      const kept = this.#folders
        .list()
        .filter((each) => each.key !== key && !this.#suspect.has(each.key))
        .filter(({ record }) => weights === null || record?.weights === weights);
      const { held: models } = this.#options;
      const held = known.isHeld ? await this.#one.donor(model, weights, holders, signal) : await models.remains(model);
      const local = await findLocalTensors(model, { kept, held, expected });
      writer = await StageWriter.open(layout, folder.path, journal, local.clones(layout));
      const { peers, hasher, gate, patienceMs = PATIENCE_MS, onProblem } = this.#options;
      await this.#one.forgetOthers(writer, { model, weights, holders, signal });
      await transferStage({
        ...{ writer, known, holders, expected, peers, hasher, gate, patienceMs, signal, onProgress, onProblem },
        localTensors: (tensor) => local.tensors(tensor),
      });
      const finished = await writer.finish();
      const files = await Promise.all(
        finished.map(async (file, index) => {
          const tensors = layout.units.filter((unit) => unit.file === index);
          return { ...file, fixedSha256: await hashFixed(join(folder.path, file.name), file.bytes, tensors) };
        }),
      );
      const record: StageRecord = {
        version: 2,
        ...{ model, startLayer, endLayer, files },
        digest: layout.digest,
        weights,
        role: layout.role,
        layers: layout.layers,
        embedding: layout.embedding,
        tensors: layout.units.map((unit) => ({
          tensor: unit.tensor,
          file: unit.file,
          at: unit.at,
          bytes: unit.bytes,
          sha256: journal.state.verified.get(unit.index) ?? '',
        })),
      };
      await writeStageRecord(folder.path, record);
      folder.record = record;
      this.#suspect.delete(key);
      this.#whole.set(key, { at: Date.now(), marks: await marksOf(folder, record) });
      await flushFolder(folder.path);
    } finally {
      await writer?.close();
      await journal.close();
    }
    await rm(join(folder.path, JOURNAL_FILE), { force: true });
    return folder;
  }

  /** Turns whole files into unfinished ones that lack the tensors that are not good. */
  async #reopen(folder: StageFolder, record: StageRecord, layout: StageLayout, good: Set<string>): Promise<void> {
    for (const { name } of record.files) {
      await rename(join(folder.path, name), join(folder.path, `${name}.partial`)).catch(() => {});
    }
    const journalPath = join(folder.path, JOURNAL_FILE);
    await rm(journalPath, { force: true });
    const journal = await TransferJournal.open(journalPath, layout.digest, this.#boot);
    try {
      for (const unit of layout.units) {
        if (record.digest !== layout.digest || !good.has(`${unit.file} ${unit.at}`)) continue;
        const known = record.tensors.find(({ file, at }) => file === unit.file && at === unit.at);
        journal.wrote(unit.index, { from: 0, to: unit.bytes });
        journal.verified(unit.index, known?.sha256 ?? '');
      }
    } finally {
      await journal.close();
    }
    folder.record = null;
    await rm(join(folder.path, RECORD_FILE), { force: true });
  }

  async #verify(
    folder: StageFolder,
    record: StageRecord,
    holders: readonly ModelHolder[],
    signal: AbortSignal,
  ): Promise<StageCheck> {
    const { model, startLayer, endLayer } = record;
    const known = await this.headers.find(model, holders, signal);
    const layout = stageLayout(known.source, { start: startLayer, end: endLayer });
    const good = await goodTensors(this.#options.hasher, folder, { signal });
    const damaged = record.tensors.filter(({ file, at }) => !good.has(`${file} ${at}`)).map(({ tensor }) => tensor);
    if (!(await fixedIsGood(folder.path, layout, known))) damaged.push('header');
    const check = { model, startLayer, endLayer, damaged, repaired: false };
    if (damaged.length === 0) {
      this.#suspect.delete(folder.key);
      return check;
    }
    this.#suspect.add(folder.key);
    if (this.#leases.has(folder.key)) return check;
    await this.#reopen(folder, record, layout, good);
    try {
      const others = holders.filter(({ member }) => member !== this.#options.self());
      const request = { model, startLayer, endLayer, holders: others };
      await this.#make(folder.key, request, record.weights, signal, () => {});
      return { ...check, repaired: true };
    } catch (cause) {
      signal.throwIfAborted();
      // It stays unfinished, so nobody loads it, and is completed when it is asked for and somebody has it.
      if (cause instanceof SliceError) this.#options.onProblem(cause);
      return check;
    }
  }

  /** Removes what has not been used for long until the stage fits. Throws SliceError('OverBudget') or ('DiskFull'). */
  async #makeRoom(key: string, layout: StageLayout): Promise<void> {
    const { budget, free } = await this.#room();
    const kept = await this.#folders.kept((each) => each === key || this.#isInUse(each));
    const own = kept.find((each) => each.key === key)?.bytes ?? 0;
    const needed = Math.max(0, layout.totalBytes - own);
    const choice = chooseEvictions(kept, needed, { budget, free });
    if (!choice.fits) {
      const [wanted, short] = [formatBytes(layout.totalBytes), formatBytes(choice.missing)];
      if (choice.shortOf === 'budget') {
        throw new SliceError(
          'OverBudget',
          `The stage's files take ${wanted}, ${short} more than the ${formatBytes(budget)} that stage files may take allow: raise that limit or stop a model.`,
        );
      }
      throw new SliceError(
        'DiskFull',
        `The stage's files take ${wanted}, and the disk lacks ${short}: free some space.`,
      );
    }
    for (const evicted of choice.evict) await this.#drop(evicted);
  }

  async #room(): Promise<Room> {
    const disk = await statfs(this.#options.folder);
    const budget = this.#options.budget() ?? Math.floor(disk.blocks * disk.bsize * DISK_SHARE);
    return { budget, free: disk.bavail * disk.bsize };
  }

  /** Removes a stage unless somebody has come to use it; whether it did. */
  #free(key: string): Promise<boolean> {
    return this.#inTurn(key, new AbortController().signal, async () => {
      if (this.#leases.has(key)) return false;
      await this.#drop(key);
      return true;
    });
  }

  async #drop(key: string): Promise<void> {
    this.#suspect.delete(key);
    this.#whole.delete(key);
    if (await this.#folders.remove(key)) this.headers.forget(modelOf(key));
  }
}

/** How the file system sees the files of a stage. */
async function marksOf({ path }: StageFolder, { files }: StageRecord): Promise<string> {
  return JSON.stringify(await markFiles(files.map(({ name }) => join(path, name))));
}

/** Puts new names on the disk, where the system can. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

function abortable(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    void promise.finally(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}
