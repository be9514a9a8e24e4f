import { setMaxListeners } from 'node:events';
import type { FastifyInstance } from 'fastify';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { promptTokensOf } from '../admitRequest.ts';
import type { GatewayContext } from '../gatewayContext.ts';
import { invalidField } from '../gatewayError.ts';
import { disconnectSignal } from '../http/disconnectSignal.ts';
import { unitVector } from '../unitVector.ts';
import { readEmbeddingsBody } from './embeddingsBody.ts';
import { findModel } from './modelsRoutes.ts';

/**
 * Texts of one request that are computed at once: enough to fill a pipeline, or a step of an embedding model, and no more than
 * others can wait for.
 */
const AT_ONCE = 4;
const AT_ONCE_POOLED = 16;

/**
 * `POST /v1/embeddings`. A text's embedding is what an embedding model pools of it, else the mean of its tokens' hidden states
 * behind the output norm, of length 1; fewer `dimensions` are the first ones, of length 1 again, as OpenAI shortens its own.
 */
export function embeddingsRoute(app: FastifyInstance, { models }: GatewayContext): void {
  app.post('/v1/embeddings', async (request, reply) => {
    const call = readEmbeddingsBody(request.body);
    const model = findModel(models, call.model);
    const signal = disconnectSignal(reply);
    const inputs: (readonly number[])[] = [];
    for (const [index, input] of call.inputs.entries()) {
      const param = call.inputs.length === 1 ? 'input' : `input.${index}`;
      inputs.push(await promptTokensOf(input, model, { param, parseSpecial: false, answer: 0 }));
    }
    const promptTokens = inputs.reduce((sum, tokens) => sum + tokens.length, 0);
    request.log.info({ model: model.id, inputs: inputs.length, promptTokens }, 'embeddings admitted');
    const embeddings = await embedAll(model, inputs, signal, (values) => shortened(values, call.dimensions, model.id));
    return {
      object: 'list',
      model: model.id,
      data: embeddings.map((values, index) => ({
        object: 'embedding',
        index,
        embedding: call.base64 ? base64Of(values) : [...values],
      })),
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    };
  });
}

/** In the order of the inputs. The first that fails ends the others. */
async function embedAll(
  model: ServedModel,
  inputs: readonly (readonly number[])[],
  signal: AbortSignal,
  finish: (values: Float32Array) => Float32Array,
): Promise<Float32Array[]> {
  const embeddings: Float32Array[] = [];
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const waiting = inputs.entries();
  const atOnce = model.embedsOnly ? AT_ONCE_POOLED : AT_ONCE;
  // Each text that is under way listens for its end.
  setMaxListeners(atOnce + 1, either);
  const work = async (): Promise<void> => {
    for (const [index, tokens] of waiting) {
      embeddings[index] = finish(await model.embed({ tokens, bulk: inputs.length > 1 }, either));
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, inputs.length) }, work);
  try {
    await Promise.all(workers);
  } finally {
    ending.abort(new DOMException('Another text of the request has failed.', 'AbortError'));
    await Promise.allSettled(workers);
  }
  return embeddings;
}

function shortened(values: Float32Array, dimensions: number | null, model: string): Float32Array {
  if (dimensions !== null && dimensions > values.length) {
    const message = `dimensions: ${model} gives ${values.length} numbers, so that ${dimensions} cannot be had.`;
    throw invalidField('dimensions', message);
  }
  return unitVector(values.subarray(0, dimensions ?? values.length));
}

/** The bytes of the f32 values, little endian. */
function base64Of(values: Float32Array): string {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}
