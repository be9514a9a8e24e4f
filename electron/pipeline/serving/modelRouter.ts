import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline as streamed } from 'node:stream/promises';
import { withoutQuantisation } from '../../gguf/modelId.ts';
import type { ServingClient } from '../../wire/servingClient.ts';
import type { DrivenPipeline } from '../forming/drivenPipeline.ts';
import type { PipelineHost } from '../forming/pipelineHost.ts';
import type { ModelText, VocabularyShelf } from '../forming/vocabularyShelf.ts';
import type { PipelineReport } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import { retryAfter } from '../scheduler/retryAfter.ts';
import type { PoolPipelines } from './poolPipelines.ts';
import { remoteEmbed, remoteGenerate } from './remoteGenerate.ts';
import type { EmbedRequest, GeneratedToken, GenerateRequest, ServedModel, ServedModels } from './servedModel.ts';

/** A pipeline of the pool, and who drives it. */
export interface PoolPipeline {
  report: PipelineReport;
  driver: { id: string; name: string; self: boolean };
}

export interface ModelRouterOptions {
  host: PipelineHost;
  others: PoolPipelines;
  /** Every pipeline that is known, those of this member included. */
  pipelines(): PoolPipeline[];
  shelf: VocabularyShelf;
  /** Called when a model can be asked that could not before. */
  onChange: () => void;
  onProblem: (cause: unknown) => void;
}

/** What is known of the words of a model that others drive. */
interface Borrowed {
  text: ModelText | null;
  abort: AbortController;
}

/** Between attempts to fetch a vocabulary, ms. */
const RETRY_MS = 1000;

/** Every model of the pool as the gateway asks it: wherever its pipelines run, and however many there are. */
export class ModelRouter implements ServedModels {
  readonly #options: ModelRouterOptions;
  /** By content id. */
  readonly #borrowed = new Map<string, Borrowed>();
  /** Requests of this member's that run on pipelines of others. */
  readonly #inFlight = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  constructor(options: ModelRouterOptions) {
    this.#options = options;
  }

  /** The models that can be asked now, by id, those that have served longest first. */
  list(): ServedModel[] {
    return this.#groups((group) => group.some(({ report }) => report.state === 'serving'));
  }

  /**
   * The model of this id, or with this alias, or with this id without its quantisation. One that has been lost is found too,
   * and refuses requests with the reason.
   */
  find(name: string): ServedModel | undefined {
    const asked = name.toLowerCase();
    const models = this.#groups(() => true).map((model) => ({ model, ...this.#names(model.id) }));
    const found =
      models.find(({ model }) => model.id === name) ??
      models.find(({ aliases }) => aliases.includes(name)) ??
      models.find(({ model }) => withoutQuantisation(model.id) === asked || model.id === asked);
    return found?.model;
  }

  /** Fetches what it lacks of models that others drive, and gives back what nobody needs. To be called after every change. */
  follow(): void {
    if (this.#closed) return;
    const remote = this.#options.pipelines().filter(({ driver }) => !driver.self);
    const wanted = new Set(remote.filter(({ report }) => canBeAsked(report)).map(({ report }) => report.model));
    for (const { report, driver } of remote) {
      if (report.state === 'serving' && !this.#borrowed.has(report.model)) this.#borrow(report, driver.id);
    }
    for (const [model, borrowed] of this.#borrowed) {
      if (wanted.has(model)) continue;
      this.#giveBack(model, borrowed);
    }
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const [model, borrowed] of this.#borrowed) this.#giveBack(model, borrowed);
  }

  /** A model for each id whose pipelines pass, and whose tokenizer is here. */
  #groups(passes: (group: PoolPipeline[]) => boolean): ServedModel[] {
    const groups = new Map<string, PoolPipeline[]>();
    for (const each of this.#options.pipelines().filter(({ report }) => canBeAsked(report))) {
      const { modelId } = each.report;
      groups.set(modelId, [...(groups.get(modelId) ?? []), each]);
    }
    const models = [...groups].flatMap(([id, group]) => {
      const text = group.map((each) => this.#textOf(each)).find((each) => each !== null);
      return text === undefined || !passes(group) ? [] : [this.#model(id, group, text)];
    });
    return models.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  }

  #names(id: string): { aliases: string[] } {
    const all = this.#options.pipelines().filter(({ report }) => report.modelId === id);
    return { aliases: all.flatMap(({ report }) => report.aliases) };
  }

  #textOf({ report, driver }: PoolPipeline): ModelText | null {
    const own = driver.self ? this.#options.host.find(report.id)?.text : null;
    return own ?? this.#borrowed.get(report.model)?.text ?? null;
  }

  #model(id: string, group: readonly PoolPipeline[], text: ModelText): ServedModel {
    const { vocabulary, architecture, chatTemplate, toolTemplate, embedsOnly, parameters, quantisation } = text;
    const serving = group.filter(({ report }) => report.state === 'serving');
    const shown = (serving.length > 0 ? serving : group).map(({ report }) => report);
    return {
      id,
      contentId: shown[0]?.model ?? '',
      createdAt: Math.min(...shown.map(({ createdAt }) => createdAt)),
      bytes: (shown[0]?.stages ?? []).reduce((sum, { bytes }) => sum + bytes, 0),
      contextLength: Math.min(...shown.map(({ contextLength }) => contextLength)),
      architecture,
      embedsOnly,
      chatTemplate,
      toolTemplate,
      parameters,
      quantisation,
      bosText: vocabulary.bosText,
      eosText: vocabulary.eosText,
      pieces: vocabulary.pieces,
      endTokens: vocabulary.endTokens,
      controlTokens: vocabulary.controlTokens,
      tokenize: async (said, options) => [...(await vocabulary.tokenize(said, options))],
      generate: (request, signal) => this.#generate(id, request, signal),
      embed: (request, signal) => this.#embed(id, request, signal),
    };
  }

  async *#generate(
    id: string,
    request: GenerateRequest,
    signal: AbortSignal,
  ): AsyncGenerator<GeneratedToken, void, void> {
    signal.throwIfAborted();
    const { report, driver } = this.#leastLoaded(id);
    this.#count(report.id, 1);
    try {
      if (driver.self) yield* this.#own(id, report).generate(request, signal);
      else {
        const client = this.#clientOf(id, driver);
        yield* remoteGenerate(client, placeOf(report, driver.name), request, signal);
      }
    } finally {
      this.#count(report.id, -1);
    }
  }

  async #embed(id: string, request: EmbedRequest, signal: AbortSignal): Promise<Float32Array> {
    signal.throwIfAborted();
    const { report, driver } = this.#leastLoaded(id);
    this.#count(report.id, 1);
    try {
      if (driver.self) return await this.#own(id, report).embed(request, signal);
      const client = this.#clientOf(id, driver);
      return await remoteEmbed(client, placeOf(report, driver.name), request, signal);
    } finally {
      this.#count(report.id, -1);
    }
  }

  #own(id: string, report: PipelineReport): DrivenPipeline {
    const own = this.#options.host.find(report.id);
    if (own === undefined) throw new PipelineError('Closed', `${id} has been stopped.`);
    return own;
  }

  #clientOf(id: string, driver: PoolPipeline['driver']): ServingClient {
    const client = this.#options.others.clientOf(driver.id);
    if (client === null) throw new PipelineError('StageLost', `${driver.name}, which drives ${id}, is lost.`);
    return client;
  }

  #count(pipeline: string, change: number): void {
    const now = (this.#inFlight.get(pipeline) ?? 0) + change;
    if (now === 0) this.#inFlight.delete(pipeline);
    else this.#inFlight.set(pipeline, now);
  }

  /** The pipeline with the fewest requests; of equal ones this member's own, then that of the fewest hops. */
  #leastLoaded(id: string): PoolPipeline {
    const all = this.#options.pipelines().filter(({ report }) => report.modelId === id);
    // What was sent there in this very moment is not in its report yet, not even in this member's own.
    const load = ({ report }: PoolPipeline): number => Math.max(report.load, this.#inFlight.get(report.id) ?? 0);
    const [best] = all
      .filter(({ report }) => report.state === 'serving')
      .sort(
        (a, b) =>
          load(a) - load(b) ||
          Number(b.driver.self) - Number(a.driver.self) ||
          a.report.stages.length - b.report.stages.length,
      );
    if (best !== undefined) return best;
    // Of what has served: what failed since to serve anew does not say why the model is lost.
    const lost = all.filter(({ report }) => canBeAsked(report)).sort((a, b) => b.report.createdAt - a.report.createdAt);
    const failure = lost.map(({ report }) => report.failure).find((each) => each !== null);
    if (failure) throw new PipelineError(failure.kind, failure.message);
    const draining = all.some(({ report }) => report.state === 'draining');
    throw new PipelineError('Closed', draining ? `${id} is being stopped.` : `${id} does not serve any more.`);
  }

  #borrow({ id, model }: PipelineReport, driver: string): void {
    const { shelf, others, onChange, onProblem } = this.#options;
    const client = others.clientOf(driver);
    if (client === null) return;
    const borrowed: Borrowed = { text: null, abort: new AbortController() };
    this.#borrowed.set(model, borrowed);
    const { signal } = borrowed.abort;
    const write = (path: string): Promise<void> =>
      streamed(Readable.from(client.vocabulary(id, signal)), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    shelf.take(model, write).then(
      (text) => {
        borrowed.text = text;
        if (signal.aborted) void shelf.release(model).catch(onProblem);
        else onChange();
      },
      (cause: unknown) => {
        if (signal.aborted) return;
        this.#borrowed.delete(model);
        onProblem(cause);
        const timer = setTimeout(() => {
          this.#timers.delete(timer);
          this.follow();
        }, RETRY_MS);
        this.#timers.add(timer);
      },
    );
  }

  #giveBack(model: string, { text, abort }: Borrowed): void {
    const { shelf, onProblem } = this.#options;
    this.#borrowed.delete(model);
    abort.abort();
    if (text !== null) void shelf.release(model).catch(onProblem);
  }
}

/** Whether requests are answered, if only with why it is lost. */
function canBeAsked({ state, createdAt }: PipelineReport): boolean {
  return createdAt > 0 && (state === 'serving' || state === 'draining' || state === 'failed');
}

function placeOf({ id, slots, figures }: PipelineReport, driver: string) {
  return { pipeline: id, driver, retryAfter: figures === null ? 1 : retryAfter({ ...figures, slots }) };
}
