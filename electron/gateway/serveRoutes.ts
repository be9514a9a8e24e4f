import type { FastifyInstance } from 'fastify';
import type { ModelServing } from '../pipeline/serving/modelServing.ts';
import type { ServeEvent } from '../pipeline/serving/serveEvents.ts';
import { lineOf } from '../planner/lineOf.ts';
import { disconnectSignal } from './http/disconnectSignal.ts';
import type { MemberApi } from './memberApi.ts';
import { methodParamSchemas } from './methodParams.ts';
import { parseBody } from './parseBody.ts';
import { servingError } from './servingActions.ts';

/**
 * `POST /api/serve` brings a model up and answers with one JSON event a line until it serves or has failed; a client that
 * leaves before takes everything back. `POST /api/stop` ends a model. Both take the parameters of the methods of memberApi.ts.
 */
export function serveRoutes(api: FastifyInstance, serving: ModelServing, member: Pick<MemberApi, 'call'>): void {
  api.post('/serve', async (request, reply) => {
    const order = parseBody(methodParamSchemas.serve, request.body);
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
      send({ type: 'failed', message: lineOf(error) });
    } finally {
      reply.raw.end();
    }
  });

  api.post('/stop', async (request) => {
    const order = parseBody(methodParamSchemas.stop, request.body);
    return member.call('stop', order).catch(servingError);
  });
}
