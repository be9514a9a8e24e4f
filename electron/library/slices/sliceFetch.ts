import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import { HashWanted, type TensorHash } from '../../wire/generated/roomful/v1/slices.ts';
import { MAX_SLICE_RANGES } from '../../wire/sliceRequests.ts';
import { SliceStream } from '../../wire/sliceStream.ts';
import { SlicesClient } from '../../wire/slicesClient.ts';
import type { SendGate } from '../../wire/slicesService.ts';
import { LinkLost } from '../../wire/wireError.ts';
import type { ExpectedHashes } from './expectedHashes.ts';
import { fetchPart } from './fetchPart.ts';
import { type FetchPiece, FetchQueue } from './fetchQueue.ts';
import type { FileHasher } from './fileHasher.ts';
import { type HolderPeers, isFinal } from './holderPeers.ts';
import { SliceError } from './sliceError.ts';
import type { StageUnit } from './stageLayout.ts';
import type { StageWriter } from './stageWriter.ts';

export interface SliceFetchOptions {
  model: string;
  writer: StageWriter;
  /** The tensors that are not verified yet. */
  units: readonly StageUnit[];
  /** Hashes that are known already. */
  expected: ExpectedHashes;
  holders: readonly ModelHolder[];
  peers: HolderPeers;
  hasher: FileHasher;
  /** Decides when more bytes may be taken. */
  gate: SendGate;
  /** How long holders that give nothing are asked again, ms. */
  patienceMs: number;
  signal: AbortSignal;
  onBytes(): void;
  /** What is wrong with a holder and did not stop the transfer. */
  onProblem(problem: SliceError): void;
}

/** Connections to each holder: while one waits for the disk the other takes. A third costs more than it brings. */
const STREAMS_PER_HOLDER = 2;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2000;
/** How often a tensor may come damaged although its holder has it whole. */
const MOST_ATTEMPTS = 3;
/** The same of one that only a member with parts of the model has: what holders still sent may have come in between. */
const MOST_PART_TRIES = 2;
/** How long a complete transfer waits for what other holders have recorded. */
const COMPARE_MS = 2000;

/**
 * Fetches tensors from all holders at once, checks each as it lies on this disk, and fetches again what is not what it
 * should be. Holders that go are asked again until nothing has come for a while.
 */
export class SliceFetch {
  readonly #options: SliceFetchOptions;
  readonly #queue = new FetchQueue();
  /** Units that are not verified, by index, with who gave bytes of them. */
  readonly #open = new Map<number, { unit: StageUnit; givers: Set<string>; attempts: number; checking: boolean }>();
  readonly #refused = new Map<string, unknown>();
  /** How often tensors that no holder can give have been asked for where parts of the model lie, and which are asked for now. */
  readonly #partTries = new Map<number, number>();
  readonly #askedParts = new Set<number>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #waiting: (() => void)[] = [];
  #lastBytesAt = performance.now();
  #checks: Promise<void> = Promise.resolve();

  constructor(options: SliceFetchOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
    // Every connection and question listens; each stops when it ends.
    setMaxListeners(0, this.#signal);
    for (const unit of options.units) {
      this.#open.set(unit.index, { unit, givers: new Set(), attempts: 0, checking: false });
      this.#queue.add(options.writer.missing(unit).map((span) => ({ unit, ...span })));
    }
  }

  /** Resolves when every unit is verified. Rejects with a SliceError or the signal's reason. */
  async run(): Promise<void> {
    const { holders } = this.#options;
    if (this.#open.size === 0) return;
    if (holders.length === 0) throw new SliceError('NoHolder', 'No member has this model; import it again.');
    const fail = (cause: unknown): void => this.#fail(cause);
    const workers = holders.flatMap((holder) =>
      Array.from({ length: STREAMS_PER_HOLDER }, () => this.#work(holder).catch(fail)),
    );
    const asking = this.#askForHashes().catch(fail);
    const comparing = holders.length > 1 ? holders.map((holder) => this.#compareRecorded(holder).catch(fail)) : [];
    for (const { unit } of this.#open.values()) this.#check(unit);
    const wake = (): void => this.#wake();
    this.#signal.addEventListener('abort', wake, { once: true });
    try {
      await this.#allVerified();
      // What several holders have recorded may still say otherwise.
      await Promise.race([Promise.all(comparing), sleep(COMPARE_MS, undefined, { signal: this.#signal })]).catch(
        () => {},
      );
      await this.#allVerified();
    } finally {
      this.#signal.removeEventListener('abort', wake);
      // Nobody needs what is still asked for.
      this.#stop.abort(DONE);
      this.#wake();
      await Promise.all([...workers, asking, ...comparing]);
      await this.#checks;
    }
    this.#options.signal.throwIfAborted();
    if (this.#open.size > 0) throw this.#stop.signal.reason;
  }

  async #allVerified(): Promise<void> {
    while (this.#open.size > 0 && !this.#signal.aborted) await this.#changed();
  }

  #fail(cause: unknown): void {
    if (cause !== DONE) this.#stop.abort(cause);
    this.#wake();
  }

  async #work(holder: ModelHolder): Promise<void> {
    let stream: SliceStream | null = null;
    let retryMs = FIRST_RETRY_MS;
    try {
      while (this.#open.size > 0 && !this.#signal.aborted && !this.#refused.has(holder.member)) {
        const batch = this.#queue.take(holder.member);
        if (batch === null) {
          await this.#changed();
          continue;
        }
        try {
          stream ??= await SliceStream.open(await this.#options.peers.peer(holder), this.#signal);
          await this.#readBatch(stream, batch);
          retryMs = FIRST_RETRY_MS;
        } catch (cause) {
          const isNew = stream === null;
          stream?.close();
          stream = null;
          this.#queue.giveBack(batch);
          this.#wake();
          this.#signal.throwIfAborted();
          if (cause instanceof SliceError) throw cause;
          if (isFinal(cause)) return this.#refuse(holder, cause);
          this.#checkPatience(cause);
          if (isNew) this.#options.peers.failed(holder);
          await sleep(retryMs, undefined, { signal: this.#signal });
          retryMs = Math.min(LAST_RETRY_MS, retryMs * 2);
        }
      }
    } catch (cause) {
      if (!this.#signal.aborted) throw cause;
    } finally {
      stream?.close();
    }
  }

  /** Takes what comes off the front of `batch`, so that what is left there is what did not come. */
  async #readBatch(stream: SliceStream, batch: FetchPiece[]): Promise<void> {
    const { model, writer, gate, onBytes } = this.#options;
    const ranges = batch.map(({ unit, from, to }) => ({
      tensor: unit.tensor,
      header: undefined,
      offset: from,
      bytes: to - from,
    }));
    for await (const block of stream.read(model, ranges, this.#signal)) {
      const piece = batch[0];
      if (piece === undefined || block.byteLength > piece.to - piece.from) {
        throw new SliceError('WrongModel', `${this.#nameOf(stream.member)} gives more than it was asked for.`);
      }
      (await gate.begin(block.byteLength, this.#signal))();
      this.#open.get(piece.unit.index)?.givers.add(stream.member);
      await writer.write(piece.unit, piece.from, block);
      this.#lastBytesAt = performance.now();
      piece.from += block.byteLength;
      if (piece.from === piece.to) batch.shift();
      onBytes();
      if (writer.missing(piece.unit).length === 0) this.#check(piece.unit);
    }
    if (batch.length > 0) throw new LinkLost(`${this.#nameOf(stream.member)} ended before it had given everything.`);
  }

  #refuse(holder: ModelHolder, cause: unknown): void {
    this.#refused.set(holder.member, cause);
    const message = `${this.#nameOf(holder.member)}: ${cause instanceof Error ? cause.message : String(cause)}`;
    const problem = new SliceError('NoHolder', message, { cause });
    if (this.#refused.size === this.#options.holders.length) this.#fail(problem);
    else this.#options.onProblem(problem);
    this.#failHopeless();
  }

  #checkPatience(cause: unknown): void {
    const { patienceMs } = this.#options;
    if (performance.now() - this.#lastBytesAt < patienceMs) return;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SliceError('HolderSilent', `No holder has given anything for ${patienceMs / 1000} s: ${why}`, { cause });
  }

  /** Asks one holder after the other until the hash of every tensor is known. */
  async #askForHashes(): Promise<void> {
    const { model, holders, peers, expected } = this.#options;
    for (let turn = 0; !this.#signal.aborted; turn += 1) {
      const unknown = [...this.#open.values()].map(({ unit }) => unit.tensor).filter((name) => !expected.get(name));
      if (unknown.length === 0) return;
      const holder = holders[turn % holders.length];
      if (holder === undefined || this.#refused.has(holder.member)) {
        await sleep(FIRST_RETRY_MS, undefined, { signal: this.#signal }).catch(() => {});
        continue;
      }
      const client = new SlicesClient(await peers.peer(holder));
      try {
        const wanted = unknown.slice(0, MAX_SLICE_RANGES);
        for await (const hash of client.hash(model, wanted, HashWanted.HASH_WANTED_ANY, this.#signal)) {
          this.#learn(hash, holder);
        }
      } catch (cause) {
        if (this.#signal.aborted) return;
        if (cause instanceof SliceError) throw cause;
        if (isFinal(cause)) this.#refuse(holder, cause);
        else this.#checkPatience(cause);
        await sleep(FIRST_RETRY_MS, undefined, { signal: this.#signal }).catch(() => {});
      } finally {
        client.close();
      }
    }
  }

  /** What several holders have recorded must agree; a holder that cannot be asked is no reason to wait. */
  async #compareRecorded(holder: ModelHolder): Promise<void> {
    const client = new SlicesClient(await this.#options.peers.peer(holder));
    const tensors = [...this.#open.values()].map(({ unit }) => unit.tensor).slice(0, MAX_SLICE_RANGES);
    try {
      const wanted = HashWanted.HASH_WANTED_RECORDED;
      for await (const hash of client.hash(this.#options.model, tensors, wanted, this.#signal))
        this.#learn(hash, holder);
    } catch (cause) {
      if (cause instanceof SliceError) throw cause;
    } finally {
      client.close();
    }
  }

  #learn({ tensor, sha256, recorded }: TensorHash, { member }: ModelHolder): void {
    if (sha256.length !== 32) return;
    const claim = { member, sha256: Buffer.from(sha256).toString('hex'), recorded };
    const verdict = this.#options.expected.claim(tensor, claim);
    if (verdict.kind === 'Agrees') return;
    if (verdict.kind === 'Damaged') {
      this.#ban(tensor, verdict.member);
      if (verdict.member !== member) this.#reopen(tensor);
    }
    for (const { unit } of this.#open.values()) if (unit.tensor === tensor) this.#check(unit);
  }

  /** What was held against a hash that has turned out wrong is held against the right one. */
  #reopen(tensor: string): void {
    for (const unit of this.#options.units) {
      if (unit.tensor !== tensor || this.#open.has(unit.index)) continue;
      this.#open.set(unit.index, { unit, givers: new Set(), attempts: 0, checking: false });
    }
  }

  /** Checks a unit once all of it lies there and its hash is known; one after the other, in a thread of its own. */
  #check(unit: StageUnit): void {
    const { writer, expected } = this.#options;
    const state = this.#open.get(unit.index);
    if (state === undefined || state.checking || writer.missing(unit).length > 0) return;
    if (expected.get(unit.tensor) === undefined) return;
    state.checking = true;
    const check = async (): Promise<void> => {
      if (this.#signal.aborted) return;
      const range = { at: unit.at, bytes: unit.bytes };
      const found = await this.#options.hasher.hash(writer.partialPath(unit.file), range, { signal: this.#signal });
      state.checking = false;
      if (found === expected.get(unit.tensor)) {
        writer.verified(unit, found);
        this.#open.delete(unit.index);
      } else await this.#fetchAgain(state);
      this.#wake();
    };
    this.#checks = this.#checks.then(check).catch((cause: unknown) => {
      if (!this.#signal.aborted) this.#fail(cause);
    });
  }

  async #fetchAgain(state: { unit: StageUnit; givers: Set<string>; attempts: number }): Promise<void> {
    const { unit, givers } = state;
    const { writer, holders, expected, onProblem } = this.#options;
    state.attempts += 1;
    for (const holder of holders) {
      if (!givers.has(holder.member)) continue;
      const onDisk = await this.#hashOnDisk(holder, unit.tensor);
      if (onDisk !== null && onDisk !== expected.get(unit.tensor)) this.#noteBan(unit.tensor, holder.member);
    }
    const isHolders = [...givers].some((member) => this.#queue.isBanned(unit.tensor, member));
    if (!isHolders && givers.size > 0) {
      const from = [...givers].map((member) => this.#nameOf(member)).join(', ');
      onProblem(new SliceError('TensorDamaged', `${unit.tensor} came damaged from ${from}; it is fetched again.`));
      if (state.attempts >= MOST_ATTEMPTS) {
        throw new SliceError('TensorDamaged', `${unit.tensor} comes damaged from ${from} again and again.`);
      }
    }
    givers.clear();
    writer.damaged(unit);
    this.#queue.add([{ unit, from: 0, to: unit.bytes }]);
    this.#failHopeless();
    this.#wake();
  }

  async #hashOnDisk(holder: ModelHolder, tensor: string): Promise<string | null> {
    const { model, peers } = this.#options;
    const client = new SlicesClient(await peers.peer(holder));
    try {
      for await (const { sha256 } of client.hash(model, [tensor], HashWanted.HASH_WANTED_ON_DISK, this.#signal)) {
        return Buffer.from(sha256).toString('hex');
      }
    } catch {
      // A holder that has gone meanwhile cannot be asked; another attempt will show.
    } finally {
      client.close();
    }
    return null;
  }

  #ban(tensor: string, member: string): void {
    this.#noteBan(tensor, member);
    this.#failHopeless();
    this.#wake();
  }

  #noteBan(tensor: string, member: string): void {
    if (this.#queue.isBanned(tensor, member)) return;
    this.#queue.ban(tensor, member);
    const message = `${tensor} is damaged on the disk of ${this.#nameOf(member)}, which checks its model now: import it there again.`;
    this.#options.onProblem(new SliceError('TensorDamaged', message));
  }

  /** Fails where nobody is left who could give a tensor. */
  #failHopeless(): void {
    const { holders } = this.#options;
    for (const { unit } of this.#open.values()) {
      const bad = holders.filter(({ member }) => this.#queue.isBanned(unit.tensor, member));
      if (bad.length === 0 || !holders.every((holder) => bad.includes(holder) || this.#refused.has(holder.member))) {
        continue;
      }
      const where = bad.map(({ member }) => this.#nameOf(member)).join(', ');
      const message = `${unit.tensor} is damaged on the disk of ${where}, and no member that is there has it whole: import the model again.`;
      this.#askForPart(unit, new SliceError('TensorDamaged', message));
    }
  }

  /** Takes a tensor from a member that has received it for a stage of its own; fails with the problem where none has. */
  #askForPart(unit: StageUnit, problem: SliceError): void {
    const { holders, peers, expected, writer, onBytes } = this.#options;
    const tries = (this.#partTries.get(unit.index) ?? 0) + 1;
    if (this.#askedParts.has(unit.index)) return;
    if (tries > MOST_PART_TRIES) {
      this.#fail(problem);
      return;
    }
    this.#partTries.set(unit.index, tries);
    this.#askedParts.add(unit.index);
    const others = peers.others().filter(({ member }) => !holders.some((holder) => holder.member === member));
    const sha256 = expected.get(unit.tensor);
    fetchPart(unit, { ...this.#options, others, sha256, signal: this.#signal }).then(
      (found) => {
        this.#askedParts.delete(unit.index);
        if (!found) return this.#fail(problem);
        onBytes();
        if (writer.missing(unit).length > 0) this.#failHopeless();
        else this.#check(unit);
      },
      (cause: unknown) => this.#fail(cause),
    );
  }

  #nameOf(member: string): string {
    return this.#options.peers.nameOf(member);
  }

  #changed(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const DONE = new Error('the transfer is done');
