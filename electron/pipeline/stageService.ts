import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cutStage, type StageFile } from '../gguf/cutStage.ts';
import { modelFingerprint } from '../gguf/modelFingerprint.ts';
import { type ModelSource, openModel } from '../gguf/openModel.ts';
import type { HostLauncher } from '../stage/hostLauncher.ts';
import { StageClient } from '../stage/stageClient.ts';
import type { StagePredecessor } from '../stage/stageContract.ts';
import { compareEpochs } from '../wire/epoch.ts';
import type { StageEvent } from '../wire/generated/roomful/v1/member.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import type { LinkStageOrder, RunStageOrder } from '../wire/orders.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import { CallRefused } from '../wire/wireError.ts';

export interface StageServiceOptions {
  launcher: HostLauncher;
  tls: TlsMaterial;
  /** Literal address at which stages listen for their followers. */
  host: string;
  /** Folder for stage files, which live as long as their stage. */
  folder: string;
  /** Threads of each stage. */
  threads: number;
  /** Layers of a stage that go to the device; 0 on a member that computes on its CPU. */
  gpuLayers: number;
  /** Lets an order of this epoch in, or throws CallRefused('StaleEpoch'). */
  admitEpoch(epoch: Epoch): Promise<void>;
  /** Hears of members that have sent a frame; at most five times a second for each stage. */
  onAlive?: (member: string) => void;
}

/** Most rows of one sequence whose logits may be asked for: a token and its drafts. */
const OUTPUTS_PER_SEQUENCE = 9;
const PROGRESS_INTERVAL_MS = 100;

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

/** What a member does with orders for stages: cut the file, run the host, and tell the coordinator how it fares. */
export class StageService {
  readonly #options: StageServiceOptions;
  readonly #running = new Map<string, RunningStage>();
  readonly #ending = new Set<Promise<void>>();
  #computed = false;

  constructor(options: StageServiceOptions) {
    this.#options = options;
  }

  /**
   * Runs a stage until `signal` says that nobody wants it any more, or it is lost. Throws CallRefused('StaleEpoch') for an
   * order of an older epoch, and what kept the stage from loading. Leaves no process and no file.
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

  /** Resolves when every stage is gone; their callers must have cancelled. */
  async settled(): Promise<void> {
    await Promise.all(this.#ending);
  }

  async #run(order: RunStageOrder, emit: (event: StageEvent) => void, signal: AbortSignal): Promise<void> {
    const { pipeline, epoch, position } = order;
    await this.#options.admitEpoch(epoch);
    const key = stageKey(pipeline, position);
    if (this.#running.has(key)) {
      throw new CallRefused('PlaceTaken', `Stage ${position} of pipeline ${pipeline} runs here already.`);
    }
    const folder = join(this.#options.folder, `${pipeline.replace(/[^\w-]/g, '_')}-${position}`);
    let client: StageClient | null = null;
    try {
      const model = await openModel(order.modelPath);
      if (modelFingerprint(model) !== order.fingerprint) {
        throw new CallRefused(
          'Failed',
          `${order.modelPath} is another model here than on the coordinator; copy it again.`,
        );
      }
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = await this.#stageFile(model, order, folder, { emit, signal });
      const gone = new Deferred();
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
      const whole = model.files[0]?.path ?? order.modelPath;
      const loading = this.#load(client, order, file ?? { whole });
      loading.catch(() => {});
      const loaded = await Promise.race([loading, gone.promise]);
      if (loaded === undefined) return;
      const stage = client;
      this.#running.set(key, {
        epoch,
        neighbours: new Set([order.followerMember]),
        predecessor: null,
        link: (predecessor) => stage.link(predecessor),
        lose: (cause) => gone.reject(cause),
      });
      const { weightBytes, kvBytes, computeBytes } = loaded.memory;
      const report = { address: loaded.address, weightBytes, kvBytes, computeBytes };
      emit({ progress: undefined, loaded: report });
      await gone.promise;
    } catch (cause) {
      if (!signal.aborted) throw cause;
    } finally {
      if (this.#running.get(key)?.epoch === epoch) this.#running.delete(key);
      await client?.close();
      await rm(folder, { recursive: true, force: true });
    }
  }

  #noteFrames(key: string): void {
    this.#computed = true;
    const predecessor = this.#running.get(key)?.predecessor ?? null;
    if (predecessor !== null) this.#options.onAlive?.(predecessor);
  }

  /** A file cut to the layers of the stage; null where that is the whole model, whose first file llama.cpp takes. */
  async #stageFile(
    model: ModelSource,
    { startLayer, endLayer }: RunStageOrder,
    folder: string,
    { emit, signal }: { emit: (event: StageEvent) => void; signal: AbortSignal },
  ): Promise<StageFile | null> {
    if (startLayer === 0 && endLayer === model.layers) return null;
    const report = throttled((fraction: number) => emit(progress('cutting', fraction)));
    return cutStage(model, { start: startLayer, end: endLayer }, join(folder, 'stage.gguf'), {
      signal,
      onProgress: (done, total) => report(done / total),
    });
  }

  #load(client: StageClient, order: RunStageOrder, file: StageFile | { whole: string }) {
    const { pipeline, epoch, position, contextLength, slots, batch, kvType, endLayer } = order;
    const { threads, gpuLayers, host, tls } = this.#options;
    const shape =
      'whole' in file
        ? { path: file.whole, role: 'whole' as const, layers: endLayer, embedding: null, vocabulary: null }
        : {
            path: file.path,
            role: file.role,
            layers: file.layers,
            embedding: file.embedding,
            vocabulary: file.vocabulary,
          };
    const sizes = { contextLength, slots, batch, kvType, maxOutputs: Math.max(slots, OUTPUTS_PER_SEQUENCE) };
    return client.load(
      { ...shape, ...sizes, threads: order.threads === 0 ? threads : order.threads, gpuLayers, device: null },
      { pipeline, epoch, position, follower: order.followerMember, host, tls },
    );
  }
}

function stageKey(pipeline: string, position: number): string {
  return `${position} ${pipeline}`;
}

function progress(phase: string, fraction: number): StageEvent {
  return { progress: { phase, fraction }, loaded: undefined };
}

/** Lets a value through at most once per interval. */
function throttled(report: (fraction: number) => void): (fraction: number) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (fraction) => {
    const now = performance.now();
    if (now - last < PROGRESS_INTERVAL_MS) return;
    last = now;
    report(fraction);
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
