import type { KvType } from '../../planner/planOptions.ts';
import type { Epoch } from '../../wire/generated/roomful/v1/ring.ts';
import { MemberClient } from '../../wire/memberClient.ts';
import { FiguresView } from '../numbers/pipelineFigures.ts';
import type { PipelineNumbers } from '../numbers/pipelineNumbers.ts';
import type { PipelineReport, PipelineState, PlannedPace, PlannedPlace } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import { refuseBadGrammar } from '../sampling/refuseBadGrammar.ts';
import type { EmbedRequest, GeneratedToken, GenerateRequest } from '../serving/servedModel.ts';
import type { ModelDrafter } from '../speculation/modelDrafter.ts';
import { MOST_AHEAD, MOST_DRAFTS } from '../speculation/mostDrafts.ts';
import { type DraftHost, openDrafter } from '../speculation/openDrafter.ts';
import { rewinds } from '../speculation/rewinds.ts';
import { Speculation } from '../speculation/speculation.ts';
import {
  type Coordinator,
  type FormedPipeline,
  type FormOptions,
  formPipeline,
  type StageLoading,
} from './formPipeline.ts';
import type { ModelFiles, ModelHolder } from './modelFiles.ts';
import type { ModelText, VocabularyShelf } from './vocabularyShelf.ts';

/** One pipeline as the member that leads has planned it. */
export interface PipelineOrder {
  id: string;
  epoch: Epoch;
  /** Content id of the model, and who has its file. */
  model: string;
  holders: readonly ModelHolder[];
  /** What clients call it. */
  modelId: string;
  aliases: readonly string[];
  stages: readonly PlannedPlace[];
  predicted: PlannedPace;
  /** Tokens over all slots. */
  contextLength: number;
  slots: number;
  /** Most tokens in one step. */
  batch: number;
  kvType: KvType;
  exact: boolean;
  /** The model that drafts, by content id; null looks drafts up. */
  draft: { model: string; holders: readonly ModelHolder[]; bytes: number } | null;
  /** Tokens guessed ahead at most, in one step; and whether always so many, paid or not. */
  mostDrafts: number;
  alwaysDraft: boolean;
  /** Steps of one request under way at once while drafts are verified, at most. */
  mostAhead: number;
  /** See `PipelineConfig`. */
  fixedChunk: boolean;
}

export interface DrivenPipelineOptions {
  /** This member. */
  coordinator: Coordinator;
  files: ModelFiles;
  shelf: VocabularyShelf;
  /** Where the model that drafts runs, and how. */
  draftHost: DraftHost;
  /** Called after every change of `report`. */
  onChange: () => void;
  route?: FormOptions['route'];
}

export interface ComingUp {
  onState(state: PipelineState): void;
  onStage(progress: StageLoading): void;
}

/** Progress is told again only when it has come on by this much. */
const TOLD_FRACTION = 0.02;

/** A pipeline that this member drives, from its first stage file to its end: takes its requests and says how it fares. */
export class DrivenPipeline {
  readonly order: PipelineOrder;
  readonly #options: DrivenPipelineOptions;
  readonly #abort = new AbortController();
  readonly #release: (() => Promise<void> | void)[] = [];
  readonly #stages: { phase: StageLoading['phase'] | null; fraction: number }[];
  #state: PipelineState = 'fetching';
  #fraction = 0;
  #failure: PipelineError | null = null;
  #formed: FormedPipeline | null = null;
  #taken: number[] = [];
  #text: ModelText | null = null;
  #createdAt = 0;
  #load = 0;
  #tokensPerSecond: number | null = null;
  readonly #view = new FiguresView();
  #onIdle: () => void = () => {};
  #releaseDrafter: () => Promise<void> = async () => {};
  #settled: Promise<void> = Promise.resolve();
  #ending: Promise<void> | null = null;

  constructor(order: PipelineOrder, options: DrivenPipelineOptions) {
    this.order = order;
    this.#options = options;
    this.#stages = order.stages.map(() => ({ phase: null, fraction: 0 }));
  }

  get report(): PipelineReport {
    const { id, model, modelId, aliases, stages, predicted, contextLength, slots } = this.order;
    return {
      id,
      model,
      modelId,
      aliases: [...aliases],
      state: this.#state,
      failure: this.#failure && { kind: this.#failure.kind, message: this.#failure.message },
      stages: stages.map((stage, index) => ({ ...stage, ...takenOf(this.#taken[index]) })),
      fraction: this.#fraction,
      contextLength: Math.floor(contextLength / slots),
      slots,
      createdAt: this.#createdAt,
      load: this.#load,
      tokensPerSecond: this.#tokensPerSecond,
      predicted,
      figures: this.#view.figures,
      draftBytes: this.order.draft?.bytes ?? 0,
    };
  }

  /** Of its model; null before it has been opened. */
  get text(): ModelText | null {
    return this.#text;
  }

  /** What it has done; null before it serves. */
  get numbers(): PipelineNumbers | null {
    return this.#formed?.pipeline.numbers ?? null;
  }

  /** Takes what it does now into `report`; true where that has changed. */
  look(): boolean {
    return this.numbers !== null && this.#view.look(this.numbers, performance.now());
  }

  /**
   * Forms and warms it; resolves when it serves. Rejects with one plain line, or the signal's reason, and leaves nothing
   * behind but what `report` says.
   */
  start(listener: ComingUp, signal: AbortSignal): Promise<void> {
    const starting = this.#start(listener, AbortSignal.any([signal, this.#abort.signal]));
    this.#settled = starting.catch(() => {});
    return starting;
  }

  /** See `ServedModel.generate`. */
  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratedToken, void, void> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#text !== null) await refuseBadGrammar(request.sampling.grammar, this.#text.vocabulary);
    const formed = this.#begin();
    let count = 0;
    let firstAt = 0;
    try {
      for await (const token of formed.pipeline.generate(request, signal)) {
        count += 1;
        if (count === 1) firstAt = performance.now();
        yield token;
      }
    } finally {
      // How fast the tokens came, the first one's wait left out.
      const seconds = (performance.now() - firstAt) / 1000;
      if (count > 1 && seconds > 0) this.#tokensPerSecond = (count - 1) / seconds;
      this.#finish();
    }
  }

  /** See `ServedModel.embed`. */
  async embed(request: EmbedRequest, signal: AbortSignal): Promise<Float32Array> {
    const formed = this.#begin();
    try {
      return await formed.pipeline.embed(request, signal);
    } finally {
      this.#finish();
    }
  }

  /**
   * Takes no more requests, lets those that run end for at most `drainMs`, and unloads every stage. One that is coming up is
   * taken back. Resolves when it has ended.
   */
  stop(drainMs: number): Promise<void> {
    if (this.#ending !== null && drainMs === 0) this.#onIdle();
    this.#ending ??= this.#stop(drainMs);
    return this.#ending;
  }

  /** Ends it at once with what has happened to it, which every later request is told. Resolves when it has ended. */
  async fail(error: PipelineError): Promise<void> {
    this.#abort.abort(error);
    this.#formed?.pipeline.fail(error);
    await this.#settled;
    await this.#formed?.close();
  }

  async #start(listener: ComingUp, signal: AbortSignal): Promise<void> {
    const { order } = this;
    const { coordinator, files, shelf, route } = this.#options;
    try {
      signal.throwIfAborted();
      listener.onState(this.#state);
      const opened = await files.open(order.model, order.holders, signal);
      const text = await shelf.take(order.model, (path) => opened.writeVocabulary(path, { signal }));
      this.#release.push(() => shelf.release(order.model));
      this.#text = text;
      const { endTokens, bosToken } = text.vocabulary;
      const drafter = order.draft === null ? null : await this.#openDrafter(order.draft, text, signal);
      const stages = order.stages.map(({ member, name, address, startLayer, endLayer, bytes }) => {
        const client = new MemberClient({ address, member, tls: coordinator.tls });
        this.#release.push(() => client.close());
        return { member: client, name, startLayer, endLayer, bytes };
      });
      const { id, epoch, model, contextLength, slots, batch, kvType, exact } = order;
      const formed = await formPipeline(
        coordinator,
        {
          id,
          epoch,
          stages,
          model,
          holders: opened.holders,
          contextLength,
          slots,
          batch,
          kvType,
          exact,
          fixedChunk: order.fixedChunk,
          rewinds: rewinds(opened.shape),
          textEmbedding: opened.shape.textEmbedding ?? null,
          speculation: new Speculation({
            drafter,
            most: Math.min(order.mostDrafts, MOST_DRAFTS),
            deepest: Math.max(1, Math.min(order.mostAhead, MOST_AHEAD)),
            always: order.alwaysDraft,
          }),
          endTokens,
          warmToken: Math.max(0, bosToken),
        },
        {
          signal,
          ...(route && { route }),
          onProgress: (progress) => {
            this.#follow(progress, listener);
            listener.onStage(progress);
          },
          onPhase: (phase) => this.#enter(phase, listener),
        },
      );
      this.#formed = formed;
      this.#taken = formed.taken.map(({ weightBytes, kvBytes, computeBytes }, index) => {
        const { startLayer = 0, endLayer = 0 } = order.stages[index] ?? {};
        // A first stage looks its embedding up outside llama.cpp, which counts it only in a whole model.
        const isFirst = startLayer === 0 && endLayer < opened.shape.layers.length;
        return weightBytes + kvBytes + computeBytes + (isFirst ? opened.shape.embeddingBytes : 0);
      });
      this.#release.push(() => formed.close());
      void formed.ended.then(() => this.#lost(formed));
      this.#createdAt = Math.floor(Date.now() / 1000);
      this.#enter('serving', listener);
    } catch (cause) {
      await this.#releaseAll().catch(() => {});
      this.#text = null;
      if (signal.aborted && !(cause instanceof PipelineError)) {
        // Nobody waits for it any more.
        this.#enter('stopped', listener);
        throw cause;
      }
      const message = cause instanceof Error ? cause.message : String(cause);
      this.#failure = cause instanceof PipelineError ? cause : new PipelineError('FormFailed', message, { cause });
      this.#enter('failed', listener);
      throw cause;
    }
  }

  async #openDrafter(
    draft: NonNullable<PipelineOrder['draft']>,
    text: ModelText,
    signal: AbortSignal,
  ): Promise<ModelDrafter> {
    const { contextLength, slots, batch } = this.order;
    const { release, drafter } = await openDrafter(this.#options, draft, { text, contextLength, slots, batch, signal });
    let released: Promise<void> | null = null;
    this.#releaseDrafter = () => {
      released ??= release();
      return released;
    };
    this.#release.push(this.#releaseDrafter);
    return drafter;
  }

  /** Counts a request in, or throws what it is refused with; `#finish` counts it out. */
  #begin(): FormedPipeline {
    if (this.#failure !== null) throw this.#failure;
    const formed = this.#formed;
    if (this.#state !== 'serving' || formed === null) {
      const { modelId } = this.order;
      const why = this.#state === 'draining' ? 'is being stopped' : 'does not serve';
      throw new PipelineError('Closed', `${modelId} ${why}.`);
    }
    this.#load += 1;
    this.#options.onChange();
    return formed;
  }

  #finish(): void {
    this.#load -= 1;
    if (this.#load === 0) this.#onIdle();
    this.#options.onChange();
  }

  #enter(state: PipelineState, listener: Pick<ComingUp, 'onState'>): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#fraction = 0;
    listener.onState(state);
    this.#options.onChange();
  }

  #follow({ stage, phase, fraction }: StageLoading, listener: ComingUp): void {
    this.#stages[stage] = { phase, fraction };
    const slowest = (only: (phase: StageLoading['phase'] | null) => boolean): number =>
      Math.min(1, ...this.#stages.filter((each) => only(each.phase)).map((each) => each.fraction));
    const files = this.#stages.some((each) => each.phase === null || isFile(each.phase));
    this.#enter(files ? 'fetching' : 'loading', listener);
    const now = slowest((each) => !files || each === null || isFile(each));
    if (Math.abs(now - this.#fraction) < TOLD_FRACTION) return;
    this.#fraction = now;
    this.#options.onChange();
  }

  /** The pipeline has ended by itself. */
  #lost({ pipeline }: FormedPipeline): void {
    if (this.#state !== 'serving' && this.#state !== 'draining') return;
    if (this.#ending === null) this.#failure = pipeline.failure;
    this.#state = this.#ending === null ? 'failed' : this.#state;
    // Its stages are unloaded by now; what drafts for them is of no use either.
    this.#releaseDrafter().catch(this.#options.draftHost.onProblem);
    this.#onIdle();
    this.#options.onChange();
  }

  async #stop(drainMs: number): Promise<void> {
    this.#abort.abort(new PipelineError('Closed', `${this.order.modelId} has been stopped.`));
    await this.#settled;
    if (this.#state === 'serving') {
      this.#state = 'draining';
      this.#options.onChange();
      await this.#idle(drainMs);
    }
    try {
      await this.#releaseAll();
    } finally {
      this.#failure = null;
      this.#text = null;
      this.#state = 'stopped';
      this.#options.onChange();
    }
  }

  #idle(ms: number): Promise<void> {
    if (this.#load === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Gives everything back, what was taken last first. One that fails does not keep the others; the first error is thrown. */
  async #releaseAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const give of this.#release.splice(0).reverse()) {
      try {
        await give();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

function isFile(phase: StageLoading['phase']): boolean {
  return phase === 'fetching' || phase === 'cutting';
}

function takenOf(takenBytes: number | undefined): { takenBytes?: number } {
  return takenBytes === undefined ? {} : { takenBytes };
}
