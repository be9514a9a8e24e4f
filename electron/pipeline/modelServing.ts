import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { modelShape } from '../gguf/modelShape.ts';
import { openModel } from '../gguf/openModel.ts';
import { writeVocabulary } from '../gguf/writeVocabulary.ts';
import type { EngineClient, Vocabulary } from '../stage/engineClient.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { MemberClient } from '../wire/memberClient.ts';
import { type Coordinator, type FormOptions, formPipeline } from './formPipeline.ts';
import { modelId } from './modelId.ts';
import { PipelineError } from './pipelineError.ts';
import { placeModel } from './placeModel.ts';
import type { ServedModel, ServedModels } from './servedModel.ts';
import type { PlacedStage, ServeEvent, ServeRequest } from './serveEvents.ts';
import { servingSizes } from './servingSizes.ts';

/** A model that serves, with what the window shows of it. */
export interface ServingModel extends ServedModel {
  readonly pipelineId: string;
  readonly placement: readonly PlacedStage[];
  /** Tokens per second of the last answer, without its prompt; null before the first. */
  readonly lastTokensPerSecond: number | null;
}

interface Entry extends ServingModel {
  close(): Promise<void>;
}

export interface ModelServingOptions {
  coordinator: Coordinator;
  engine: Pick<EngineClient, 'openVocabulary'>;
  /** Folder for files that live as long as a model serves. */
  folder: string;
  build: string;
  wireVersion: number;
  nextEpoch(): Promise<Epoch>;
  /** Called after every change of what serves. */
  onChange?: () => void;
  route?: FormOptions['route'];
}

/** The models that this member coordinates: plans, forms and keeps their pipelines. */
export class ModelServing implements ServedModels {
  readonly #options: ModelServingOptions;
  readonly #models = new Map<string, Entry>();
  readonly #forming = new Set<string>();

  constructor(options: ModelServingOptions) {
    this.#options = options;
  }

  list(): ServingModel[] {
    return [...this.#models.values()];
  }

  find(id: string): ServingModel | undefined {
    return this.#models.get(id);
  }

  /**
   * Plans the model over the members that the request lists, forms the pipeline and warms it. Resolves when it serves.
   * Rejects with one plain line and leaves nothing behind; the signal takes everything back.
   */
  async serve(request: ServeRequest, onEvent: (event: ServeEvent) => void, signal: AbortSignal): Promise<ServingModel> {
    const source = await openModel(request.modelPath);
    const id = modelId(source.summary.name);
    if (this.#models.has(id) || this.#forming.has(id)) {
      throw new PipelineError('FormFailed', `${id} is being served already; stop it first.`);
    }
    this.#forming.add(id);
    const clients = request.members.map(
      ({ address, id: member }) => new MemberClient({ address, member, tls: this.#options.coordinator.tls }),
    );
    const pipelineId = randomBytes(8).toString('hex');
    const folder = join(this.#options.folder, pipelineId);
    let vocabulary: Vocabulary | null = null;
    const release = async (): Promise<void> => {
      for (const client of clients) client.close();
      await vocabulary?.close();
      await rm(folder, { recursive: true, force: true });
    };
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const shape = modelShape(source);
      const sizes = servingSizes(shape, request);
      const exact = request.exact ?? false;
      const { wireVersion, build, coordinator } = this.#options;
      const members = await Promise.all(
        clients.map(async (client) => ({ client, hello: await client.hello({ wireVersion, build }) })),
      );
      const { stages, placement, explain } = placeModel(members, shape, {
        ...sizes,
        exact,
        build,
        coordinator: coordinator.member,
      });
      onEvent({ type: 'planned', placement, hops: placement.length - 1, explain });

      const vocabularyPath = join(folder, 'vocabulary.gguf');
      await writeVocabulary(source, vocabularyPath, { signal });
      const opened = await this.#options.engine.openVocabulary(vocabularyPath);
      vocabulary = opened;
      const formed = await formPipeline(
        coordinator,
        {
          id: pipelineId,
          epoch: await this.#options.nextEpoch(),
          stages,
          modelPath: request.modelPath,
          ...sizes,
          exact,
          endTokens: opened.endTokens,
          warmToken: Math.max(0, opened.bosToken),
        },
        {
          signal,
          ...(this.#options.route && { route: this.#options.route }),
          onProgress: ({ member, phase, fraction }) => onEvent({ type: 'progress', member, phase, fraction }),
        },
      );
      const { pipeline } = formed;
      let lastTokensPerSecond: number | null = null;
      const measured = (rate: number): void => {
        lastTokensPerSecond = rate;
        this.#options.onChange?.();
      };
      const entry: Entry = {
        id,
        pipelineId,
        placement,
        createdAt: Math.floor(Date.now() / 1000),
        contextLength: Math.floor(sizes.contextLength / sizes.slots),
        chatTemplate: source.summary.chatTemplate,
        bosText: opened.bosText,
        eosText: opened.eosText,
        pieces: opened.pieces,
        endTokens: opened.endTokens,
        tokenize: async (text, options) => [...(await opened.tokenize(text, options))],
        generate: (generate, abort) => timed(pipeline.generate(generate, abort), measured),
        get lastTokensPerSecond() {
          return lastTokensPerSecond;
        },
        close: async () => {
          await formed.close();
          await release();
        },
      };
      this.#models.set(id, entry);
      this.#options.onChange?.();
      onEvent({ type: 'ready', model: id, contextLength: entry.contextLength });
      return entry;
    } catch (cause) {
      await release();
      throw cause;
    } finally {
      this.#forming.delete(id);
    }
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

  async close(): Promise<void> {
    await Promise.all([...this.#models.keys()].map((id) => this.stop(id)));
  }
}

/** Hands the tokens on and tells how fast they came, the first one's wait left out. */
async function* timed(
  tokens: AsyncIterable<number>,
  onRate: (tokensPerSecond: number) => void,
): AsyncGenerator<number, void, void> {
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
