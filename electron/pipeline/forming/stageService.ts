import { formatBytes } from '../../planner/formatBytes.ts';
import type { HostLauncher } from '../../stage/hostLauncher.ts';
import { StageClient } from '../../stage/stageClient.ts';
import type { StagePredecessor } from '../../stage/stageContract.ts';
import { compareEpochs } from '../../wire/epoch.ts';
import type { StageEvent } from '../../wire/generated/roomful/v1/member.ts';
import type { Epoch } from '../../wire/generated/roomful/v1/ring.ts';
import type { LinkStageOrder, RunStageOrder } from '../../wire/orders.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { CallRefused } from '../../wire/wireError.ts';
import { MOST_DRAFTS } from '../speculation/mostDrafts.ts';
import { StageFileDamaged, type StageFileLease, type StageFileProgress, type StageFiles } from './stageFiles.ts';

export interface StageServiceOptions {
  launcher: HostLauncher;
  tls: TlsMaterial;
  /** Literal address at which stages listen for their followers. */
  host: string;
  /** Where stages get their files. */
  files: StageFiles;
  /** Threads of each stage. */
  threads: number;
  /** Layers of a stage that go to the device; 0 on a member that computes on its CPU. */
  gpuLayers: number;
  /** Bytes that a stage could take now where it computes; null where nobody knows. */
  freeBytes(): Promise<number | null>;
  /** Lets an order of this epoch in, or throws CallRefused('StaleEpoch'). */
  admitEpoch(epoch: Epoch): Promise<void>;
  /** Hears of what is wrong and is put right. */
  onProblem?: (problem: Error) => void;
  /** Hears of members that have sent a frame; at most five times a second for each stage. */
  onAlive?: (member: string) => void;
}

const PROGRESS_INTERVAL_MS = 100;
/** Of a stage that could not get its memory, what is tried next. */
const LESS_AFTER_FAILURE = 0.75;
/** Hosts tell of frames five times a second. */
const COMPUTING_MS = 1000;

interface RunningStage {
  epoch: Epoch;
  /** The members whose processes it is linked to. */
  neighbours: Set<string>;
  /** The member that sends it frames; null before it is linked. */
  predecessor: string | null;
  link(predecessor: StagePredecessor): Promise<void>;
  /** Ends it, and tells its coordinator why. */
  lose(cause: Error): void;
}

/** What a member does with orders for stages: get the file, run the host, and tell the coordinator how it fares. */
export class StageService {
  readonly #options: StageServiceOptions;
  readonly #running = new Map<string, RunningStage>();
  readonly #ending = new Set<Promise<void>>();
  #computed = false;
  #computedAt = Number.NEGATIVE_INFINITY;

  constructor(options: StageServiceOptions) {
    this.#options = options;
  }

  /**
   * Runs a stage until `signal` says that nobody wants it any more, or it is lost. Throws CallRefused('StaleEpoch') for an
   * order of an older epoch, and what kept the stage from loading. Leaves no process.
   */
  run(order: RunStageOrder, emit: (event: StageEvent) => void, signal: AbortSignal): Promise<void> {
    const running = this.#run(order, emit, signal);
    const ending = running.then(
      () => {},
      () => {},
    );
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
    return running;
  }

  /** Links a stage that has loaded; resolves when its link is up. */
  async link({ pipeline, epoch, position, predecessorAddress, predecessorMember }: LinkStageOrder): Promise<void> {
    const stage = this.#running.get(stageKey(pipeline, position));
    if (stage === undefined) {
      throw new CallRefused('WrongPipeline', `Stage ${position} of pipeline ${pipeline} does not run here.`);
    }
    if (compareEpochs(epoch, stage.epoch) !== 0) {
      throw new CallRefused('StaleEpoch', `Stage ${position} of pipeline ${pipeline} has another epoch.`);
    }
    stage.neighbours.add(predecessorMember);
    stage.predecessor = predecessorMember;
    await stage.link({ address: predecessorAddress, member: predecessorMember });
  }

  /** Ends every stage that is linked to a member, because the member was removed. */
  dropMember(member: string): void {
    for (const { neighbours, lose } of this.#running.values()) {
      if (neighbours.has(member)) lose(new CallRefused('NotAdmitted', `Member ${member} was removed from the pool.`));
    }
  }

  /** Whether a stage has computed since the last call. */
  takeComputed(): boolean {
    const computed = this.#computed;
    this.#computed = false;
    return computed;
  }

  /** Whether a stage is here, or is coming up or going. */
  get isRunning(): boolean {
    return this.#ending.size > 0;
  }

  /** Whether a stage has computed within the last second. */
  get isComputing(): boolean {
    return performance.now() - this.#computedAt < COMPUTING_MS;
  }

  /** Resolves when every stage is gone; their callers must have cancelled. */
  async settled(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /** A file that turns out to be damaged is got again, once. */
  async #run(order: RunStageOrder, emit: (event: StageEvent) => void, signal: AbortSignal): Promise<void> {
    try {
      await this.#runOnce(order, emit, signal);
    } catch (damage) {
      if (!(damage instanceof StageFileDamaged) || signal.aborted) throw damage;
      this.#options.onProblem?.(damage);
      await this.#runOnce(order, emit, signal).catch((cause: unknown) => {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new StageFileDamaged(`${damage.message} It could not be fetched again: ${why}`, { cause });
      });
    }
  }

  async #runOnce(order: RunStageOrder, emit: (event: StageEvent) => void, signal: AbortSignal): Promise<void> {
    const { pipeline, epoch, position } = order;
    await this.#options.admitEpoch(epoch);
    const key = stageKey(pipeline, position);
    if (this.#running.has(key)) {
      throw new CallRefused('PlaceTaken', `Stage ${position} of pipeline ${pipeline} runs here already.`);
    }
    let client: StageClient | null = null;
    let lease: StageFileLease | null = null;
    const checking = new AbortController();
    const stopChecking = (): void => checking.abort(signal.reason);
    signal.addEventListener('abort', stopChecking, { once: true });
    try {
      lease = await this.#options.files.provide(order, {
        signal,
        onProgress: throttled((progress) => emit(fileProgress(progress))),
      });
      await this.#refuseTooLarge(order, emit);
      const gone = new Deferred();
      let isLoading = true;
      const report = throttled((done: number, total: number) => {
        if (!isLoading) emit(fileProgress({ phase: 'checking', doneBytes: done, totalBytes: total }));
      });
      client = await StageClient.start(this.#options.launcher, {
        onProgress: throttled((fraction) => emit(progress('loading', fraction))),
        onFrames: () => this.#noteFrames(key),
        onLinkLost: (_side, message) => gone.reject(new CallRefused('Failed', message)),
        onEnded: () => gone.resolve(),
        onLost: (error) => gone.reject(error),
      });
      const onAbort = (): void => gone.resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) return;
      const loading = this.#load(client, order, lease.file).finally(() => {
        isLoading = false;
      });
      loading.catch(() => {});
      // A damaged file may well be what keeps it from loading.
      const checked = lease.check({ signal: checking.signal, onProgress: report });
      const loaded = await Promise.race([Promise.all([loading, checked]), gone.promise]).catch(
        async (cause: unknown) => {
          if (!isOutOfMemory(cause)) await Promise.race([checked, gone.promise]);
          throw this.#outOfMemory(order, cause, emit);
        },
      );
      if (loaded === undefined) return;
      const stage = client;
      this.#running.set(key, {
        epoch,
        neighbours: new Set([order.followerMember]),
        predecessor: null,
        link: (predecessor) => stage.link(predecessor),
        lose: (cause) => gone.reject(cause),
      });
      const [{ address, memory }] = loaded;
      const { weightBytes, kvBytes, computeBytes } = memory;
      emit({ ...NO_EVENT, loaded: { address, weightBytes, kvBytes, computeBytes } });
      await gone.promise;
    } catch (cause) {
      if (!signal.aborted) throw cause;
    } finally {
      if (this.#running.get(key)?.epoch === epoch) this.#running.delete(key);
      signal.removeEventListener('abort', stopChecking);
      checking.abort(new Error('The stage has ended.'));
      await client?.close();
      await lease?.release();
    }
  }

  #noteFrames(key: string): void {
    this.#computed = true;
    this.#computedAt = performance.now();
    const predecessor = this.#running.get(key)?.predecessor ?? null;
    if (predecessor !== null) this.#options.onAlive?.(predecessor);
  }

  /** A driver that runs out of memory may take more with it than the load, so it is not left to find out. */
  async #refuseTooLarge(
    { plannedBytes: neededBytes }: RunStageOrder,
    emit: (event: StageEvent) => void,
  ): Promise<void> {
    const freeBytes = neededBytes === 0 ? null : await this.#options.freeBytes();
    if (freeBytes === null || freeBytes >= neededBytes) return;
    emit({ ...NO_EVENT, short: { freeBytes, neededBytes } });
    const [free, needed] = [formatBytes(freeBytes), formatBytes(neededBytes)];
    throw new CallRefused('Failed', `${free} are free where the stage needs ${needed}.`, { kind: 'DoesNotFit' });
  }

  /** What to throw for a load that failed; where it was for want of memory, the stage was too large after all. */
  #outOfMemory({ plannedBytes }: RunStageOrder, cause: unknown, emit: (event: StageEvent) => void): unknown {
    if (!isOutOfMemory(cause) || plannedBytes === 0) return cause;
    const freeBytes = Math.floor(plannedBytes * LESS_AFTER_FAILURE);
    emit({ ...NO_EVENT, short: { freeBytes, neededBytes: plannedBytes } });
    return new CallRefused('Failed', cause.message, { kind: 'DoesNotFit', cause });
  }

  #load(client: StageClient, order: RunStageOrder, file: StageFileLease['file']) {
    const { pipeline, epoch, position, contextLength, slots, batch, kvType } = order;
    const { threads, gpuLayers, host, tls } = this.#options;
    const sizes = { contextLength, slots, batch, kvType, maxOutputs: Math.max(slots, MOST_DRAFTS + 1) };
    return client.load(
      { ...file, ...sizes, threads: order.threads === 0 ? threads : order.threads, gpuLayers, device: null },
      { pipeline, epoch, position, follower: order.followerMember, host, tls },
    );
  }
}

function isOutOfMemory(cause: unknown): cause is Error {
  return cause instanceof Error && !(cause instanceof StageFileDamaged) && /memory|alloc/i.test(cause.message);
}

const NO_EVENT: StageEvent = { progress: undefined, loaded: undefined, short: undefined };

function stageKey(pipeline: string, position: number): string {
  return `${position} ${pipeline}`;
}

function progress(phase: string, fraction: number, doneBytes = 0, totalBytes = 0): StageEvent {
  return { ...NO_EVENT, progress: { phase, fraction, doneBytes, totalBytes } };
}

function fileProgress({
  phase,
  doneBytes,
  totalBytes,
}: Omit<StageFileProgress, 'phase'> & { phase: StageFileProgress['phase'] | 'checking' }): StageEvent {
  return progress(phase, totalBytes === 0 ? 1 : doneBytes / totalBytes, doneBytes, totalBytes);
}

/** Lets a value through at most once per interval. */
function throttled<Values extends unknown[]>(report: (...values: Values) => void): (...values: Values) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (...values) => {
    const now = performance.now();
    if (now - last < PROGRESS_INTERVAL_MS) return;
    last = now;
    report(...values);
  };
}

class Deferred {
  readonly promise: Promise<undefined>;
  resolve: () => void = () => {};
  reject: (cause: Error) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = () => resolve(undefined);
      this.reject = reject;
    });
    this.promise.catch(() => {});
  }
}
