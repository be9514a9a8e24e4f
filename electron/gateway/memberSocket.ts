import fastifyWebsocket from '@fastify/websocket';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { GatewayError } from './gatewayError.ts';
import { carriesToken } from './http/accessGuard.ts';
import { ignoreOtherUpgrades } from './http/ignoreOtherUpgrades.ts';
import type { MemberApi } from './memberApi.ts';
import { parseBody } from './parseBody.ts';
import type { RendererFile } from './window/rendererFiles.ts';
import { uploadRoute } from './window/uploadRoute.ts';
import type { WindowAccess } from './window/windowAccess.ts';
import { openWindowSession } from './window/windowSession.ts';

export interface WindowOptions {
  api: MemberApi;
  /** See `readRendererFiles`. */
  files: ReadonlyMap<string, RendererFile>;
  access: WindowAccess;
  /** Opens the socket too, as a Bearer token; for programs, which have no cookies. */
  localToken: string;
  /** Where files that are dropped on the window go; where left out none are taken. */
  modelsFolder?: string;
}

const MAX_MESSAGE_BYTES = 1024 * 1024;
const PING_MS = 20_000;

/**
 * Serves the window to a browser: its files on `/`, `POST /window/session` that exchanges the token of a link for a
 * cookie, and the WebSocket `/window/socket` that carries the contract of memberApi.ts. To be called before `listen`.
 * Host and Origin are checked by the gateway's own guard, the socket's Origin once more.
 */
export function serveWindow(
  app: FastifyInstance,
  { api, files, access, localToken, modelsFolder }: WindowOptions,
): void {
  for (const [url, file] of files) app.get(url, (request, reply) => sendFile(request, reply, file));

  app.get('/window/session', (request, reply) => {
    if (!holdsSession(request, access)) throw notSignedIn();
    return reply.status(204).send();
  });
  app.post('/window/session', (request, reply) => {
    const session = access.exchange(parseBody(sessionBody, request.body).token);
    if (session === null) {
      throw new GatewayError('This link was used before; open the window again for a new one.', {
        status: 401,
        code: 'invalid_link',
      });
    }
    // Cookies know no ports: the name keeps members on one machine apart.
    const cookie = `${cookieName(request)}=${session}; HttpOnly; SameSite=Strict; Path=/window`;
    return reply.header('set-cookie', cookie).status(204).send();
  });

  // Node leaves the socket of an upgrade to us; a refused one would keep the gateway from closing.
  app.addHook('onResponse', async ({ raw }) => {
    if (raw.headers.upgrade !== undefined) raw.socket.destroy();
  });
  app.register(fastifyWebsocket, { options: { maxPayload: MAX_MESSAGE_BYTES } });
  app.addHook('onReady', async () => ignoreOtherUpgrades(app.server));
  const onlyOwnPage = async (request: FastifyRequest): Promise<void> => {
    if (carriesToken(request, localToken)) return;
    // Browsers send the cookie to every port of this host; only the gateway's own page may use it here.
    const isOwnPage = request.headers.origin === `http://${request.headers.host}`;
    if (!isOwnPage || !holdsSession(request, access)) throw notSignedIn();
  };
  if (modelsFolder !== undefined) app.register(async (scope) => uploadRoute(scope, modelsFolder, onlyOwnPage));
  app.register(async (scope) => {
    scope.get(
      '/window/socket',
      {
        websocket: true,
        onRequest: onlyOwnPage,
      },
      (socket) => {
        const session = openWindowSession(api, (message) => socket.send(JSON.stringify(message)));
        const ping = setInterval(() => socket.ping(), PING_MS);
        socket.on('message', (data, isBinary) => {
          try {
            if (isBinary) throw new SyntaxError('Messages are text.');
            session.receive(JSON.parse(data.toString()));
          } catch {
            socket.close(1008, 'not a message of the contract');
          }
        });
        const end = () => {
          clearInterval(ping);
          session.close();
        };
        socket.on('close', end);
        socket.on('error', end);
      },
    );
  });
}

const sessionBody = z.object({ token: z.string().min(1).max(200) });

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

function sendFile(request: FastifyRequest, reply: FastifyReply, file: RendererFile): FastifyReply {
  reply.headers({
    'content-type': file.contentType,
    'content-security-policy': contentSecurityPolicy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    etag: file.etag,
    'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
  if (request.headers['if-none-match'] === file.etag) return reply.status(304).send();
  return reply.send(file.body);
}

function holdsSession(request: FastifyRequest, access: WindowAccess): boolean {
  const name = cookieName(request);
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name && value !== undefined && access.holds(value)) return true;
  }
  return false;
}

function notSignedIn(): GatewayError {
  return new GatewayError('The window is not signed in; open it with a new link.', { status: 401, code: 'no_session' });
}

function cookieName(request: FastifyRequest): string {
  return `roomful_window_${request.raw.socket.localPort}`;
}
