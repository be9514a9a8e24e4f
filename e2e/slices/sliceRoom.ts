import { execFile } from 'node:child_process';
import { open, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { modelFingerprint } from '../../electron/gguf/modelFingerprint.ts';
import { type ModelSource, openModel } from '../../electron/gguf/openModel.ts';
import { hashModel } from '../../electron/library/modelHashes.ts';
import { FileHasher } from '../../electron/library/slices/fileHasher.ts';
import type { HeldModel } from '../../electron/library/slices/heldModel.ts';
import { HolderPeers } from '../../electron/library/slices/holderPeers.ts';
import { SliceGate } from '../../electron/library/slices/sliceGate.ts';
import { SliceHolder } from '../../electron/library/slices/sliceHolder.ts';
import { StageFileStore } from '../../electron/library/slices/stageFileStore.ts';
import type { ModelHolder } from '../../electron/pipeline/forming/modelFiles.ts';
import { SliceStreams } from '../../electron/wire/sliceStreams.ts';
import type { SliceReader, SliceSource } from '../../electron/wire/slicesService.ts';
import { slicesService } from '../../electron/wire/slicesService.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { TestPool } from '../testing/testPool.ts';

export interface HolderOptions {
  /** Whether hashes were recorded when the model was imported; true where left out. */
  recorded?: boolean;
  /** Changes bytes on their way, after they were read from the disk. */
  tamper?: (tensor: string, offset: number, bytes: Uint8Array) => void;
  admits?: (member: string) => boolean;
  onDamaged?: (model: string) => void;
  /** Without one bytes leave as they come. */
  gate?: SliceGate;
}

export interface StoreOptions {
  budget?: number | undefined;
  patienceMs?: number;
  /** Members that are no holders, with their names. */
  others?: readonly (ModelHolder & { name: string })[];
}

const GATE = new SliceGate({ settings: () => ({ bytesPerSecond: null, loadedShare: 1 }), isLoaded: () => false });

/** Holders of models and stores that fetch from them, over real sockets in this process. */
export class SliceRoom {
  readonly pool: TestPool;
  readonly hasher = new FileHasher();
  /** What stores have told of. */
  readonly problems: string[] = [];
  readonly #closers: (() => Promise<void>)[] = [];
  #stores = 0;

  private constructor(pool: TestPool) {
    this.pool = pool;
  }

  static async open(): Promise<SliceRoom> {
    return new SliceRoom(await TestPool.create());
  }

  async holder(
    path: string,
    { recorded = true, tamper, admits = () => true, onDamaged = () => {}, gate = GATE }: HolderOptions = {},
  ): Promise<ModelHolder & { close(): Promise<void> }> {
    const source = await openModel(path);
    const model = modelFingerprint(source);
    const signal = new AbortController().signal;
    const held: HeldModel = { source, hashes: recorded ? (await hashModel(source, { signal })).tensors : new Map() };
    const find = async (called: string) => (called === model ? held : undefined);
    const holder = new SliceHolder({ held: { find }, onDamaged, gate, hasher: this.hasher });
    return this.#serve(tamper === undefined ? holder : tampered(holder, tamper), admits, gate);
  }

  /** A member that gives what a store has received, and holds no model whole. */
  receiver(store: StageFileStore): Promise<ModelHolder> {
    const held = { find: async () => undefined };
    return this.#serve(
      new SliceHolder({ held, parts: (model) => store.parts(model), gate: GATE, hasher: this.hasher }),
    );
  }

  async #serve(source: SliceSource, admits: (member: string) => boolean = () => true, gate = GATE) {
    const { id, tls } = await this.pool.member();
    const server = await WireServer.start({
      tls,
      host: '127.0.0.1',
      port: 0,
      services: [slicesService(source)],
      sliceStreams: new SliceStreams({ source, gate, admits }),
      admits,
    });
    const close = (): Promise<void> => server.close();
    this.#closers.push(close);
    return { member: id, addresses: [server.address], close };
  }

  /** `folder`: of an earlier store, to go on with it. */
  async store(options: StoreOptions = {}, folder = join(this.pool.home, `slices-${++this.#stores}`)) {
    const { id, tls } = await this.pool.member();
    const store = await StageFileStore.open({
      folder,
      self: () => id,
      held: { find: async () => undefined, check: async () => {}, remains: async () => undefined },
      peers: new HolderPeers({ tls: () => tls, others: () => options.others ?? [] }),
      hasher: this.hasher,
      gate: GATE,
      budget: () => options.budget ?? null,
      onProblem: ({ message }) => this.problems.push(message),
      patienceMs: options.patienceMs ?? 5000,
    });
    return { store, folder };
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
    await this.hasher.close();
    await this.pool.remove();
  }
}

export async function contentId(path: string): Promise<string> {
  return modelFingerprint(await openModel(path));
}

export function tensorAt(model: ModelSource, name: string): number {
  const tensor = model.tensors.get(name);
  if (tensor === undefined) throw new Error(`the model has no ${name}`);
  return tensor.offset;
}

/** Flips one byte; the time of change stays as it was, to the nanosecond, as when a disk decays, unless `openly`. */
export async function flipByte(file: string, at: number, { openly = false } = {}): Promise<void> {
  const { mtimeNs } = await stat(file, { bigint: true });
  const handle = await open(file, 'r+');
  const byte = Buffer.alloc(1);
  await handle.read(byte, 0, 1, at);
  byte[0] = (byte[0] ?? 0) ^ 0x10;
  await handle.write(byte, 0, 1, at);
  await handle.close();
  if (openly) return;
  const [seconds, rest] = [mtimeNs / 1_000_000_000n, mtimeNs % 1_000_000_000n];
  const then = `@${seconds}.${String(rest).padStart(9, '0')}`;
  if (rest === 0n) await utimes(file, Number(seconds), Number(seconds));
  else await promisify(execFile)('touch', ['-d', then, file]);
}

function tampered(source: SliceSource, tamper: NonNullable<HolderOptions['tamper']>): SliceSource {
  return {
    describe: (model) => source.describe(model),
    hash: (model, tensors, wanted, signal) => source.hash(model, tensors, wanted, signal),
    open: async (model): Promise<SliceReader> => {
      const reader = await source.open(model);
      return {
        check: (part) => reader.check(part),
        close: () => reader.close(),
        read: async (part, offset, target) => {
          await reader.read(part, offset, target);
          if (part.tensor !== undefined) tamper(part.tensor, offset, target);
        },
      };
    },
  };
}
