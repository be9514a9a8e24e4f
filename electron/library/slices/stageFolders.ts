import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeptFiles } from './diskBudget.ts';
import { RECORD_FILE, readStageRecord, type StageRecord } from './stageRecord.ts';

/** One stage's folder, whether its files are whole yet or not. */
export interface StageFolder {
  /** `MODEL/START-END`. */
  key: string;
  path: string;
  /** Null while the files are being made. */
  record: StageRecord | null;
  usedAt: number;
}

const STAGE_NAME = /^\d+-\d+$/;
const MODEL_NAME = /^[0-9a-f]{64}$/;

export function stageKey(model: string, startLayer: number, endLayer: number): string {
  return `${model}/${startLayer}-${endLayer}`;
}

/** The content id of the model of which a stage is. */
export function modelOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** The folders of stages below one folder: `MODEL/START-END`, and beside them `MODEL/header`. */
export class StageFolders {
  readonly #root: string;
  readonly #folders = new Map<string, StageFolder>();
  #lastUse = 0;

  private constructor(root: string) {
    this.#root = root;
  }

  static async open(root: string): Promise<StageFolders> {
    await mkdir(root, { recursive: true, mode: 0o700 });
    const folders = new StageFolders(root);
    for (const model of await readdir(root)) {
      if (!MODEL_NAME.test(model)) continue;
      for (const name of await readdir(join(root, model))) {
        if (STAGE_NAME.test(name)) await folders.#read(`${model}/${name}`);
      }
    }
    return folders;
  }

  get(key: string): StageFolder | undefined {
    return this.#folders.get(key);
  }

  list(): StageFolder[] {
    return [...this.#folders.values()];
  }

  /** The folder of a stage, made where it is not there. */
  async make(key: string): Promise<StageFolder> {
    const folder = this.#folders.get(key) ?? { key, path: join(this.#root, key), record: null, usedAt: this.#now() };
    await mkdir(folder.path, { recursive: true, mode: 0o700 });
    this.#folders.set(key, folder);
    return folder;
  }

  /** Notes that a stage is used now, on the disk too. */
  async touch(folder: StageFolder): Promise<void> {
    folder.usedAt = this.#now();
    const seconds = folder.usedAt / 1000;
    if (folder.record !== null) await utimes(join(folder.path, RECORD_FILE), seconds, seconds).catch(() => {});
  }

  /** Removes a stage; true where it was the last of its model, whose header goes along. */
  async remove(key: string): Promise<boolean> {
    const folder = this.#folders.get(key);
    if (folder === undefined) return false;
    this.#folders.delete(key);
    await rm(folder.path, { recursive: true, force: true });
    const model = modelOf(key);
    if (this.list().some((other) => modelOf(other.key) === model)) return false;
    await rm(join(this.#root, model), { recursive: true, force: true });
    return true;
  }

  async kept(isInUse: (key: string) => boolean): Promise<KeptFiles[]> {
    return Promise.all(
      this.list().map(async ({ key, path, usedAt }) => ({
        key,
        bytes: await diskBytes(path),
        usedAt,
        inUse: isInUse(key),
      })),
    );
  }

  /** Later than every use before, also within one millisecond, or the order of two would be no order. */
  #now(): number {
    this.#lastUse = Math.max(Date.now(), this.#lastUse + 1);
    return this.#lastUse;
  }

  async #read(key: string): Promise<void> {
    const path = join(this.#root, key);
    const record = await readStageRecord(path);
    const at = await stat(record === null ? path : join(path, RECORD_FILE)).catch(() => null);
    this.#folders.set(key, { key, path, record, usedAt: at?.mtimeMs ?? 0 });
    this.#lastUse = Math.max(this.#lastUse, at?.mtimeMs ?? 0);
  }
}

/** What the files of a folder take on the disk; unfinished ones have holes. */
async function diskBytes(path: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(path).catch(() => [])) {
    const file = await stat(join(path, name)).catch(() => null);
    // 0 where the system does not count blocks.
    if (file !== null) bytes += Math.min(file.size, file.blocks > 0 ? file.blocks * 512 : file.size);
  }
  return bytes;
}
