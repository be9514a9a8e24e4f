import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFingerprint } from '../gguf/modelFingerprint.ts';
import { modelId, withoutQuantisation } from '../gguf/modelId.ts';
import { modelShape } from '../gguf/modelShape.ts';
import { type ModelSource, openModel } from '../gguf/openModel.ts';
import { writeVocabulary } from '../gguf/writeVocabulary.ts';
import type { PlacedStage } from '../planner/placedStage.ts';
import type { Vocabulary } from '../stage/engineClient.ts';
import type { EngineKeeper } from '../stage/engineKeeper.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { MemberClient } from '../wire/memberClient.ts';
import { type Coordinator, type FormOptions, formPipeline } from './formPipeline.ts';
import type { Pipeline } from './pipeline.ts';
import { PipelineError } from './pipelineError.ts';
import { placeModel } from './placeModel.ts';
import type { GeneratedToken, GenerateRequest, ServedModel, ServedModels } from './servedModel.ts';
import type { ServeEvent, ServeRequest } from './serveEvents.ts';
import { servingSizes } from './servingSizes.ts';

/** A model that serves, with what the window shows of it. */
export interface ServingModel extends ServedModel {
  readonly pipelineId: string;
  readonly placement: readonly PlacedStage[];
  /** Tokens per second of the last answer, without its prompt; null before the first. */
  readonly lastTokensPerSecond: number | null;
}

interface Entry extends ServingModel {
  /** The members that hold its stages. */
  readonly members: ReadonlySet<string>;
  /** Lost a stage: every request is refused with the reason, until the model is stopped or served again. */
  readonly hasEnded: boolean;
  close(): Promise<void>;
}

export interface ModelServingOptions {
  coordinator: Coordinator;
  engine: Pick<EngineKeeper, 'openVocabulary'>;
  /** Folder for files that live as long as a model serves. */
  folder: string;
  build: string;
  wireVersion: number;
  /** The term in which this member leads. */
  epoch(): Promise<Epoch>;
  /** Called after every change of what serves. */
  onChange?: () => void;
  route?: FormOptions['route'];
}

interface ComingUp {
  id: string;
  source: ModelSource;
  request: ServeRequest;
  onEvent: (event: ServeEvent) => void;
  signal: AbortSignal;
  release: (() => Promise<void> | void)[];
}

/** A model that is coming up over some of these members. */
interface Forming {
  members: string[];
  stop: AbortController;
  /** Resolves when it serves, or has given everything back. */
  settled: Promise<void>;
}

/** The models that this member coordinates: plans, forms and keeps their pipelines. */
export class ModelServing implements ServedModels {
  readonly #options: ModelServingOptions;
  readonly #models = new Map<string, Entry>();
  readonly #forming = new Map<string, Forming>();

  constructor(options: ModelServingOptions) {
    this.#options = options;
  }

  list(): ServingModel[] {
    return [...this.#models.values()].filter(({ hasEnded }) => !hasEnded);
  }

  find(id: string): ServingModel | undefined {
    return this.#models.get(id) ?? [...this.#models.values()].find((model) => withoutQuantisation(model.id) === id);
  }

  /**
   * Plans the model over the members that the request lists, forms the pipeline and warms it. Resolves when it serves.
   * Rejects with one plain line and leaves nothing behind; the signal takes everything back.
   */
  async serve(request: ServeRequest, onEvent: (event: ServeEvent) => void, signal: AbortSignal): Promise<ServingModel> {
    const source = await openModel(request.modelPath);
    const id = modelId(source.summary);
    if (this.#models.get(id)?.hasEnded === true) await this.stop(id);
    if (this.#models.has(id) || this.#forming.has(id)) {
      throw new PipelineError('FormFailed', `${id} is being served already; stop it first.`);
    }
    const stop = new AbortController();
    let settle = (): void => {};
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#forming.set(id, { members: request.members.map((member) => member.id), stop, settled });
    const release: (() => Promise<void> | void)[] = [];
    try {
      const entry = await this.#comeUp({
        id,
        source,
        request,
        onEvent,
        signal: AbortSignal.any([signal, stop.signal]),
        release,
      });
      this.#models.set(id, entry);
      this.#options.onChange?.();
      onEvent({ type: 'ready', model: id, contextLength: entry.contextLength });
      return entry;
    } catch (cause) {
      // What kept the model from serving is what counts.
      await releaseAll(release).catch(() => {});
      throw cause;
    } finally {
      this.#forming.delete(id);
      settle();
    }
  }

  /** Places, forms and warms; what it takes on the way is added to `release`, newest last. */
  async #comeUp({ id, source, request, onEvent, signal, release }: ComingUp): Promise<Entry> {
    const { coordinator, wireVersion, build, engine, route, onChange } = this.#options;
    const exact = request.exact ?? false;
    const shape = modelShape(source);
    const sizes = servingSizes(shape, request);
    const members = await Promise.all(
      request.members.map(async ({ address, id: member }) => {
        const client = new MemberClient({ address, member, tls: coordinator.tls });
        release.push(() => client.close());
        return { client, hello: await client.hello({ wireVersion, build }) };
      }),
    );
    const lead = { exact, build, coordinator: coordinator.member };
    const { stages, placement, explain } = placeModel(members, shape, { ...sizes, ...lead });
    onEvent({ type: 'planned', placement, hops: placement.length - 1, explain });

    const pipelineId = randomBytes(8).toString('hex');
    const vocabulary = await this.#openVocabulary(source, pipelineId, { engine, signal, release });
    const formed = await formPipeline(
      coordinator,
      {
        id: pipelineId,
        epoch: await this.#options.epoch(),
        stages,
        modelPath: request.modelPath,
        fingerprint: modelFingerprint(source),
        ...sizes,
        exact,
        endTokens: vocabulary.endTokens,
        warmToken: Math.max(0, vocabulary.bosToken),
      },
      {
        signal,
        ...(route && { route }),
        onProgress: ({ member, phase, fraction }) => onEvent({ type: 'progress', member, phase, fraction }),
      },
    );
    release.push(() => formed.close());
    void formed.ended.then(() => onChange?.());

    let lastTokensPerSecond: number | null = null;
    const measured = (rate: number): void => {
      lastTokensPerSecond = rate;
      onChange?.();
    };
    return {
      id,
      pipelineId,
      placement,
      members: new Set(stages.map(({ member }) => member.member)),
      createdAt: Math.floor(Date.now() / 1000),
      contextLength: formed.pipeline.config.sequenceLength,
      chatTemplate: source.summary.chatTemplate,
      bosText: vocabulary.bosText,
      eosText: vocabulary.eosText,
      pieces: vocabulary.pieces,
      endTokens: vocabulary.endTokens,
      tokenize: async (text, options) => [...(await vocabulary.tokenize(text, options))],
      generate: (generate, abort) => timed(answered(formed.pipeline, vocabulary, generate, abort), measured),
      get hasEnded() {
        return formed.pipeline.failure !== null;
      },
      get lastTokensPerSecond() {
        return lastTokensPerSecond;
      },
      close: () => releaseAll(release),
    };
  }

  async #openVocabulary(
    source: ModelSource,
    pipelineId: string,
    { engine, signal, release }: Pick<ModelServingOptions, 'engine'> & Pick<ComingUp, 'signal' | 'release'>,
  ): Promise<Vocabulary> {
    const folder = join(this.#options.folder, pipelineId);
    release.push(() => rm(folder, { recursive: true, force: true }));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, 'vocabulary.gguf');
    await writeVocabulary(source, path, { signal });
    const vocabulary = await engine.openVocabulary(path);
    release.push(() => vocabulary.close());
    return vocabulary;
  }

  /** Ends a model and unloads its stages; false where it does not serve. */
  async stop(id: string): Promise<boolean> {
    const entry = this.#models.get(id);
    if (entry === undefined) return false;
    this.#models.delete(id);
    this.#options.onChange?.();
    await entry.close();
    return true;
  }

  /** Ends every model that has a stage on a member, or may get one there, because the member was removed from the pool. */
  async dropMember(member: string): Promise<void> {
    for (const { members, stop } of this.#forming.values()) {
      if (members.includes(member)) stop.abort(new PipelineError('FormFailed', 'A member was removed from the pool.'));
    }
    const lost = [...this.#models.values()].filter(({ members }) => members.has(member));
    await Promise.all(lost.map(({ id }) => this.stop(id)));
  }

  /** Ends what serves and takes back what comes up. */
  async close(): Promise<void> {
    for (const { stop } of this.#forming.values()) stop.abort(new PipelineError('Closed', 'The member is closing.'));
    await Promise.all([...this.#forming.values()].map(({ settled }) => settled));
    await Promise.all([...this.#models.keys()].map((id) => this.stop(id)));
  }
}

/** Gives everything back, what was taken last first. One that fails does not keep the others; the first error is thrown. */
async function releaseAll(release: (() => Promise<void> | void)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const give of release.splice(0).reverse()) {
    try {
      await give();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Generates once the grammar is known to be one: a stage would learn it only after the prompt. */
async function* answered(
  pipeline: Pipeline,
  vocabulary: Vocabulary,
  request: GenerateRequest,
  signal: AbortSignal,
): AsyncGenerator<GeneratedToken, void, void> {
  const { grammar } = request.sampling;
  const problem = grammar === null ? null : await vocabulary.grammarProblem(grammar);
  if (problem !== null) throw new PipelineError('BadGrammar', `The request cannot be served: ${problem}.`);
  yield* pipeline.generate(request, signal);
}

/** Hands the tokens on and tells how fast they came, the first one's wait left out. */
async function* timed(
  tokens: AsyncIterable<GeneratedToken>,
  onRate: (tokensPerSecond: number) => void,
): AsyncGenerator<GeneratedToken, void, void> {
  let count = 0;
  let firstAt = 0;
  try {
    for await (const token of tokens) {
      count += 1;
      if (count === 1) firstAt = performance.now();
      yield token;
    }
  } finally {
    const seconds = (performance.now() - firstAt) / 1000;
    if (count > 1 && seconds > 0) onRate((count - 1) / seconds);
  }
}
