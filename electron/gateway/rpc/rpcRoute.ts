import type { FastifyInstance } from 'fastify';
import { asGatewayError } from '../gatewayError.ts';
import { answerRpc, type RpcMethod, rpcParseError } from './jsonRpc.ts';

/**
 * `POST /rpc` below the prefix of `app`. What JSON-RPC has an answer for comes with status 200 (204 where it has none),
 * but a body that is no JSON with 400.
 */
export function rpcRoute(app: FastifyInstance, methods: ReadonlyMap<string, RpcMethod>): void {
  app.post(
    '/rpc',
    {
      errorHandler: (error, _request, reply) => {
        const answer = asGatewayError(error);
        const isJson = answer.code !== 'invalid_json';
        return reply.status(answer.status).send(isJson ? answer.body() : rpcParseError);
      },
    },
    async (request, reply) => {
      const response = await answerRpc(request.body, methods, (method, error) =>
        request.log.error({ err: error, method }, 'RPC method failed'),
      );
      return response === null ? reply.status(204).send() : response;
    },
  );
}
