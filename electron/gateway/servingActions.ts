import { PipelineError } from '../pipeline/pipelineError.ts';
import type { ModelServing } from '../pipeline/serving/modelServing.ts';
import { WireError } from '../wire/wireError.ts';
import { GatewayError } from './gatewayError.ts';
import type { ServingPipeline } from './memberApi.ts';
import { servingFigures } from './servingFigures.ts';
import type { MemberActions } from './window/memberState.ts';

export type ServingMethod = 'serve' | 'serveAgain' | 'putAway' | 'stop';

/** What the contract's methods about serving do. */
export function servingActions(models: ModelServing): Pick<MemberActions, ServingMethod> {
  return {
    serve: async (params) => {
      // Whoever asked may leave; `stop` takes it back.
      const { id, contextLength } = await models.serve(params, () => {}, new AbortController().signal);
      return { model: id, contextLength };
    },
    serveAgain: async ({ pipeline }) => {
      const { id, contextLength } = await models.serveAgain(pipeline, new AbortController().signal);
      return { model: id, contextLength };
    },
    putAway: async ({ pipeline }) => {
      if (await models.putAway(pipeline)) return {};
      throw new GatewayError('That has gone already.', { status: 404, code: 'pipeline_not_found' });
    },
    stop: async ({ model, drainMs }) => {
      if (await models.stop(model, drainMs)) return { stopped: model };
      throw new GatewayError(`No model '${model}' is being served.`, { status: 404, code: 'model_not_found' });
    },
  };
}

/** Every pipeline of the pool, as windows and commands see it. */
export function servingPipelines(models: Pick<ModelServing, 'pipelines' | 'find'>): ServingPipeline[] {
  return models.pipelines().map(({ report, driver }) => ({
    id: report.id,
    contentId: report.model,
    modelId: report.modelId,
    aliases: report.aliases,
    embedsOnly: models.find(report.modelId)?.embedsOnly ?? false,
    state: report.state,
    fraction: report.fraction,
    reason: report.failure?.message ?? null,
    driver: { id: driver.id, name: driver.name },
    contextLength: report.contextLength,
    placement: report.stages.map(({ member: id, name: member, startLayer, endLayer, bytes, kvBytes, weightBytes }) => ({
      id,
      member,
      startLayer,
      endLayer,
      bytes,
      kvBytes,
      weightBytes,
    })),
    hops: Math.max(0, report.stages.length - 1),
    lastTokensPerSecond: report.tokensPerSecond,
    figures: servingFigures(report),
  }));
}

/** What a request to serve or stop is answered with where it fails. */
export function servingError(cause: unknown): never {
  if (cause instanceof PipelineError && (cause.kind === 'FormFailed' || cause.kind === 'DoesNotFit')) {
    throw new GatewayError(cause.message, { status: 409, code: 'form_failed', cause });
  }
  if (cause instanceof WireError) throw new GatewayError(cause.message, { status: 503, code: cause.name, cause });
  throw cause;
}
