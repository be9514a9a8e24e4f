import { openModel } from '../../gguf/openModel.ts';
import { textEmbedding } from '../../gguf/textEmbedding.ts';
import { PipelineError } from '../../pipeline/pipelineError.ts';
import { refuseBadGrammar } from '../../pipeline/sampling/refuseBadGrammar.ts';
import { Pipeline } from '../../pipeline/scheduler/pipeline.ts';
import { vectorOf } from '../../pipeline/scheduler/textVector.ts';
import type { EmbedRequest, GenerateRequest, ServedModel, ServedModels } from '../../pipeline/serving/servedModel.ts';
import { loadAddon } from '../../stage/loadAddon.ts';
import { StageRunner } from '../../stage/stageRunner.ts';
import type { StepFrame } from '../../wire/generated/roomful/v1/ring.ts';

export interface WholeModel extends ServedModel {
  /** Generations that hold a slot now. */
  readonly running: () => number;
  dispose(): Promise<void>;
}

const BATCH = 64;
const EPOCH = { counter: 1, coordinator: 'test' };

/** Serves a whole GGUF in this process, one thread: a pipeline of one stage, without wire and hosts. */
export async function wholeModel(
  path: string,
  options: { id: string; contextLength: number; slots: number; queueLimit?: number },
): Promise<WholeModel> {
  const { id, contextLength, slots, queueLimit = 64 } = options;
  const { addon } = loadAddon();
  const source = await openModel(path);
  const { layers, summary, tensorBytes } = source;
  const embedding = textEmbedding(source.metadata, source.architecture);
  const role = embedding?.wholeTexts ? 'embedder' : 'whole';
  const batch = embedding?.wholeTexts ? contextLength : BATCH;
  const vocabulary = await addon.loadVocabulary(path);
  const endTokens = new Set(vocabulary.endTokens());
  const native = await addon.loadStage(
    {
      ...{ path, role, layers, embedding: null, vocabulary: null, slots, batch, threads: 1 },
      ...{ contextLength: contextLength * slots, gpuLayers: 0, device: null, kvType: 'f16', maxOutputs: slots },
    },
    () => undefined,
  );
  const frames = new FrameQueue();
  const config = { id, epoch: EPOCH, stages: 1, slots, sequenceLength: contextLength, chunk: batch, exact: false };
  const limits = { rewinds: role === 'whole', endTokens, queueLimit, stepDeadlineMs: 60_000 };
  const pipeline = new Pipeline({ ...config, ...limits, vectors: vectorOf(embedding) }, (frame) => frames.push(frame));
  const send = async (frame: StepFrame): Promise<void> => pipeline.receive(frame);
  const place = { native, role, pipeline: id, epoch: EPOCH, position: 0, slots, batch } as const;
  const runner = new StageRunner({ ...place, send }).run(frames);
  let running = 0;

  async function* generate(request: GenerateRequest, signal: AbortSignal) {
    running += 1;
    try {
      const grammarProblem = async (grammar: string) => vocabulary.grammarProblem(grammar);
      await refuseBadGrammar(request.sampling.grammar, { grammarProblem });
      yield* pipeline.generate(request, signal);
    } finally {
      running -= 1;
    }
  }

  async function embed(request: EmbedRequest, signal: AbortSignal): Promise<Float32Array> {
    running += 1;
    try {
      return await pipeline.embed(request, signal);
    } finally {
      running -= 1;
    }
  }

  return {
    id,
    contentId: 'c'.repeat(64),
    createdAt: 1_700_000_000,
    bytes: tensorBytes,
    contextLength,
    architecture: summary.architecture,
    embedsOnly: embedding !== null,
    chatTemplate: summary.chatTemplate,
    parameters: summary.parameters,
    quantisation: summary.quantisation,
    bosText: vocabulary.bosText,
    eosText: vocabulary.eosText,
    pieces: vocabulary.pieces(),
    endTokens,
    controlTokens: new Map(vocabulary.controlTokens().map(({ id, text }) => [id, text])),
    tokenize: async (text, special) => [...vocabulary.tokenize(text, special)],
    generate,
    embed,
    running: () => running,
    async dispose() {
      pipeline.fail(new PipelineError('Closed', 'The test is over.'));
      frames.end();
      await runner;
      await native.unload();
      vocabulary.free();
    },
  };
}

/** The models of a member that serves exactly these. */
export function servedModels(...models: ServedModel[]): ServedModels {
  return { list: () => models, find: (id) => models.find((model) => model.id === id) };
}

/** Frames in order for one reader. */
class FrameQueue implements AsyncIterable<StepFrame> {
  readonly #frames: StepFrame[] = [];
  #ended = false;
  #wake: () => void = () => {};

  push(frame: StepFrame): void {
    this.#frames.push(frame);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StepFrame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) yield frame;
      else if (this.#ended) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
