import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { GgufError } from '../gguf/ggufError.ts';
import { LibraryError } from '../library/libraryError.ts';
import { PoolError } from '../pool/poolError.ts';
import { WireError } from '../wire/wireError.ts';
import { GatewayError } from './gatewayError.ts';
import type { MemberApi, MemberMethod, MethodParams, MethodResult } from './memberApi.ts';
import { methodParamSchemas } from './methodParams.ts';
import { parseBody } from './parseBody.ts';
import { streamLines } from './streamLines.ts';

/**
 * `POST /api/member/METHOD` calls a method of memberApi.ts with the body as its parameters. `GET /api/watch` answers with the
 * members now and after every change, one JSON array a line; `GET /api/watch/library` the same with the library.
 */
export function memberRoutes(routes: FastifyInstance, api: MemberApi): void {
  for (const method of Object.keys(methodParamSchemas).filter(isMethod)) {
    routes.post(`/member/${method}`, (request) => answer(api, method, request.body ?? {}));
  }

  routes.get('/watch', async (_request, reply) => {
    streamLines(reply, (send) => api.subscribe('pool', ({ members }) => send(members)));
  });
  routes.get('/watch/library', async (_request, reply) => {
    streamLines(reply, (send) => api.subscribe('library', send));
  });
}

const schemas: { [M in MemberMethod]: z.ZodType<MethodParams<M>> } = methodParamSchemas;

async function answer<M extends MemberMethod>(api: MemberApi, method: M, body: unknown): Promise<MethodResult<M>> {
  const params: MethodParams<M> = parseBody(schemas[method], body);
  try {
    return await api.call(method, params);
  } catch (cause) {
    if (cause instanceof PoolError) throw new GatewayError(cause.message, { status: 409, code: cause.kind, cause });
    if (cause instanceof LibraryError) throw new GatewayError(cause.message, { status: 409, code: cause.code, cause });
    if (cause instanceof GgufError) throw new GatewayError(cause.message, { status: 400, code: cause.code, cause });
    if (cause instanceof WireError) throw new GatewayError(cause.message, { status: 503, code: cause.name, cause });
    throw cause;
  }
}

function isMethod(name: string): name is MemberMethod {
  return Object.hasOwn(methodParamSchemas, name);
}
