import { z } from 'zod';
import type { ServedModel, ServedModels } from '../../pipeline/serving/servedModel.ts';
import { invalidField } from '../gatewayError.ts';
import { capabilitiesOf, findModel } from '../openai/modelsRoutes.ts';
import { parseBody } from '../parseBody.ts';

/** Models that are served do not expire. */
const NEVER = '9999-12-31T23:59:59Z';

/** Ollama's clients call a model without a tag `latest`. @throws GatewayError 404. */
export function findTagged(models: ServedModels, name: string): ServedModel {
  return models.find(name) ?? findModel(models, name.replace(/:latest$/, ''));
}

/** Of `GET /api/tags`. The size is what it takes in memory, in all its parts together: not every member knows its files. */
export function modelTag(model: ServedModel): object {
  const { id, contentId, createdAt, bytes } = model;
  const modified = new Date(createdAt * 1000).toISOString();
  return { name: id, model: id, modified_at: modified, size: bytes, digest: contentId, details: modelDetails(model) };
}

/** Of `GET /api/ps`: what is served is loaded. How much of it lies on cards nobody knows here, so `size_vram` is left out. */
export function modelRunning(model: ServedModel): object {
  const { id, contentId, bytes, contextLength } = model;
  return {
    ...{ name: id, model: id, size: bytes, digest: contentId, details: modelDetails(model) },
    ...{ expires_at: NEVER, context_length: contextLength },
  };
}

const showBody = z.object({ model: z.string().nullish(), name: z.string().nullish(), verbose: z.boolean().nullish() });

/** What `POST /api/show` says, as far as it is true of a model that is served already. @throws GatewayError 400 and 404. */
export function modelShown(models: ServedModels, input: unknown): object {
  const body = parseBody(showBody, input);
  const called = body.model ?? body.name;
  if (called == null) throw invalidField('model', 'model: say which model is to be shown.');
  const model = findTagged(models, called);
  const { architecture, chatTemplate, contextLength, createdAt, parameters = null } = model;
  return {
    template: chatTemplate ?? '',
    parameters: `num_ctx ${contextLength}`,
    details: modelDetails(model),
    model_info: {
      'general.architecture': architecture,
      ...(parameters === null ? {} : { 'general.parameter_count': parameters }),
      [`${architecture}.context_length`]: contextLength,
    },
    capabilities: [...capabilitiesOf(model), ...(chatTemplate?.includes('tools') ? ['tools'] : [])],
    modified_at: new Date(createdAt * 1000).toISOString(),
  };
}

/** What nobody knows is empty, as Ollama has it. */
function modelDetails({ architecture, parameters = null, quantisation = null }: ServedModel): object {
  return {
    ...{ parent_model: '', format: 'gguf', family: architecture, families: [architecture] },
    ...{ parameter_size: parameters === null ? '' : shortCount(parameters), quantization_level: quantisation ?? '' },
  };
}

/** As Ollama rounds it: 8.0B, 134.52M, 12K. */
function shortCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(2)}M`;
  return count >= 1e3 ? `${Math.round(count / 1e3)}K` : `${count}`;
}
