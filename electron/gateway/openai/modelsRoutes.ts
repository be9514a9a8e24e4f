import type { FastifyInstance } from 'fastify';
import type { ServedModel, ServedModels } from '../../pipeline/serving/servedModel.ts';
import { GatewayError, invalidField } from '../gatewayError.ts';

/** `GET /v1/models` and `/v1/models/{id}`. */
export function modelsRoutes(app: FastifyInstance, models: ServedModels): void {
  app.get('/v1/models', () => ({ object: 'list', data: models.list().map(modelObject) }));
  app.get<{ Params: { id: string } }>('/v1/models/:id', (request) => modelObject(findModel(models, request.params.id)));
}

/** @throws GatewayError 404 `model_not_found` that names the models there are. */
export function findModel(models: ServedModels, id: string): ServedModel {
  const model = models.find(id);
  if (model !== undefined) return model;
  const served = models.list().map((one) => one.id);
  const instead = served.length === 0 ? 'No model is served here.' : `Served here: ${served.join(', ')}.`;
  throw new GatewayError(`The model ${JSON.stringify(id.slice(0, 200))} does not exist. ${instead}`, {
    status: 404,
    param: 'model',
    code: 'model_not_found',
  });
}

/**
 * The model itself, where it writes text.
 *
 * @throws GatewayError 400 that blames `model` for one that only turns texts into vectors.
 */
export function writing(model: ServedModel): ServedModel {
  if (!model.embedsOnly) return model;
  const message = `${model.id} is an embedding model and writes no text: ask it at /v1/embeddings, or take another model.`;
  throw invalidField('model', message, 'model_not_supported');
}

/** What a model is for, in the words of Ollama and llama-server. */
export function capabilitiesOf({ embedsOnly }: ServedModel): string[] {
  return embedsOnly ? ['embedding'] : ['completion'];
}

function modelObject(model: ServedModel): object {
  return {
    id: model.id,
    object: 'model',
    created: model.createdAt,
    owned_by: 'roomful',
    // llama-server's and vLLM's way to say how long the context is.
    meta: { n_ctx: model.contextLength },
    max_model_len: model.contextLength,
    capabilities: capabilitiesOf(model),
  };
}
