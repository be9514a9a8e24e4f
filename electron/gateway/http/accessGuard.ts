import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { GatewayError } from '../gatewayError.ts';
import { type AccessRules, hostIsAllowed, isLoopbackAddress, originIsAllowed } from './accessRules.ts';

/**
 * Refuses with 403 what did not come over loopback where that is asked for, what names a foreign Host (DNS rebinding) and what a page of a
 * foreign origin sent; answers allowed origins with CORS headers.
 */
export function accessGuard(rules: AccessRules, { loopbackOnly }: { loopbackOnly: boolean }): onRequestHookHandler {
  return async (request, reply) => {
    const { localAddress, localPort } = request.raw.socket;
    if (loopbackOnly && !isLoopbackAddress(localAddress)) {
      throw forbidden('This gateway answers only on this machine itself; use 127.0.0.1.', 'loopback_only');
    }
    if (request.raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1)
      throw new GatewayError('The request has two Host headers.', { status: 400, code: 'bad_http' });
    if (!hostIsAllowed(request.headers.host, rules)) {
      const use = loopbackOnly ? '127.0.0.1 or localhost' : 'the address that this machine is known by';
      throw forbidden(`The Host header names another machine; use ${use}.`, 'host_not_allowed');
    }
    const { origin } = request.headers;
    if (origin === undefined) return;
    if (!originIsAllowed(origin, loopbackOnly ? localPort : undefined, rules)) {
      throw forbidden(`Pages of ${origin} may not call this gateway.`, 'origin_not_allowed');
    }
    allowOrigin(origin, request, reply);
  };
}

/** Refuses with 401 what does not carry the local token. */
export function tokenGuard(localToken: string): onRequestHookHandler {
  return async (request, reply) => {
    if (request.method === 'OPTIONS' || carriesToken(request, localToken)) return;
    reply.header('www-authenticate', 'Bearer');
    const message = 'Calls of /api need the local token of this member: send Authorization: Bearer TOKEN.';
    throw new GatewayError(message, { status: 401, code: 'invalid_local_token' });
  };
}

/** True when the request says `Authorization: Bearer` and exactly this token; the time tells nothing of the token. */
export function carriesToken(request: FastifyRequest, token: string): boolean {
  const sent = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  return sent !== undefined && timingSafeEqual(digest(sent), digest(token));
}

function allowOrigin(origin: string, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('access-control-allow-origin', origin);
  reply.header('vary', 'origin');
  reply.header('access-control-expose-headers', 'x-request-id, retry-after');
  if (request.method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', 'GET, POST, DELETE, OPTIONS');
  const wanted = request.headers['access-control-request-headers'];
  reply.header('access-control-allow-headers', wanted ?? 'authorization, content-type');
  reply.header('access-control-max-age', '600'); // seconds
  if (request.headers['access-control-request-private-network'] === 'true') {
    reply.header('access-control-allow-private-network', 'true');
  }
}

function forbidden(message: string, code: string): GatewayError {
  return new GatewayError(message, { status: 403, code });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
