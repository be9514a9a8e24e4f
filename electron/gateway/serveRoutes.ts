import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ModelServing } from '../pipeline/modelServing.ts';
import { type ServeEvent, serveRequestSchema } from '../pipeline/serveEvents.ts';
import { GatewayError } from './gatewayError.ts';
import { disconnectSignal } from './http/disconnectSignal.ts';
import { parseBody } from './parseBody.ts';

const stopRequestSchema = z.strictObject({ model: z.string().min(1) });

/**
 * `POST /api/serve` brings a model up and answers with one JSON event a line until it serves or has failed; a client that
 * leaves before takes everything back. `POST /api/stop` ends a model.
 */
export function serveRoutes(api: FastifyInstance, serving: ModelServing): void {
  api.post('/serve', async (request, reply) => {
    const order = parseBody(serveRequestSchema, request.body);
    const signal = disconnectSignal(reply);
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-cache' });
    reply.raw.flushHeaders();
    const send = (event: ServeEvent): void => {
      if (!signal.aborted) reply.raw.write(`${JSON.stringify(event)}\n`);
    };
    try {
      await serving.serve(order, send, signal);
    } catch (error) {
      request.log.warn({ err: error }, 'a model could not be served');
      send({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
    } finally {
      reply.raw.end();
    }
  });

  api.post('/stop', async (request) => {
    const { model } = parseBody(stopRequestSchema, request.body);
    if (await serving.stop(model)) return { stopped: model };
    throw new GatewayError(`No model '${model}' is being served here.`, { status: 404, code: 'model_not_found' });
  });
}
