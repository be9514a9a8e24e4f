import { randomBytes } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { DrivenNumbers } from '../pipeline/forming/pipelineHost.ts';
import type { ServedModels } from '../pipeline/serving/servedModel.ts';
import type { HostLauncher } from '../stage/hostLauncher.ts';
import { nodeLauncher } from '../stage/nodeLauncher.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import type { ApiKeys } from './access/apiKeys.ts';
import { KeyGuard } from './access/keyGuard.ts';
import type { RequestLog } from './access/requestLog.ts';
import type { GatewayContext } from './gatewayContext.ts';
import { asGatewayError, GatewayError } from './gatewayError.ts';
import { accessGuard, tokenGuard } from './http/accessGuard.ts';
import type { AccessRules } from './http/accessRules.ts';
import { answerBrokenRequest } from './http/answerBrokenRequest.ts';
import { jsonBodies } from './http/jsonBodies.ts';
import { metricsText } from './metricsText.ts';
import { ollamaRoutes } from './ollama/ollamaRoutes.ts';
import { chatRoute } from './openai/chatRoute.ts';
import { completionsRoute } from './openai/completionsRoute.ts';
import { embeddingsRoute } from './openai/embeddingsRoute.ts';
import { modelsRoutes } from './openai/modelsRoutes.ts';
import { responsesRoute } from './responses/responsesRoute.ts';
import { clusterPlan } from './rpc/clusterPlan.ts';
import type { RpcMethod } from './rpc/jsonRpc.ts';
import { rpcRoute } from './rpc/rpcRoute.ts';
import { prepareTemplate } from './template/renderChat.ts';
import { TemplateRenderer } from './template/templateRenderer.ts';

export interface GatewayOptions {
  models: ServedModels;
  /** What `/api/*` asks for as a Bearer token, but for the routes of Ollama, whose clients send none; see `localToken`. */
  localToken: string;
  /** Calls the listener after every change of the models, so that the first request of a new one need not wait for a process. */
  onModels?: (listener: () => void) => void;
  /** What the pipelines that this member drives have done, for `/metrics`. */
  numbers?: () => DrivenNumbers[];
  /** Version of this build, for `system_fingerprint`. */
  build: string;
  /** A pino logger. Prompts and answers are never logged, seeds are. */
  log: FastifyBaseLogger;
  /** Hosts and origins beyond its own that requests may name; read anew for every request. */
  rules?: AccessRules;
  /** Where it answers other machines: over HTTPS alone, every request with a key, and nothing of this member's own. */
  lan?: { tls: TlsMaterial; keys: Pick<ApiKeys, 'find' | 'count'> };
  /** The CA certificate of the pool, PEM, for `/ca.pem`; null in no pool. */
  caCertificate?: () => string | null;
  /** Notes the requests to models. */
  requests?: RequestLog;
  /** Largest body in bytes; beyond it 413. */
  bodyLimit?: number;
  /** A request that has not arrived whole by then gets 408, ms. */
  requestTimeoutMs?: number;
  /** See `GatewayContext`. */
  keepAliveMs?: number;
  /** Starts the processes that render chat templates; Node's own where it is left out. */
  launcher?: HostLauncher;
  /** Adds routes below `/api`, behind the local token. */
  apiRoutes?: (api: FastifyInstance) => void;
}

const DEFAULT_BODY_LIMIT = 8 * 1024 * 1024; // bytes; a million tokens of text
const DEFAULT_KEEP_ALIVE_MS = 5_000;
const FAILURE_GRACE_MS = 10;
const METHODS = ['GET', 'POST', 'DELETE'] as const;
/** What other machines may ask without a key. */
const OPEN_PATHS = ['/health', '/ca.pem'];
const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
/** How often Node looks for requests that are late; its own 30 s would make of 60 s one and a half minutes. */
const LATE_CHECK_MS = 5_000;

/**
 * The HTTP server of a member. `listen({port})` serves on loopback, and without `lan` nothing that comes over another address
 * is answered; `close()` ends every stream and aborts its generation.
 */
export function createGateway(options: GatewayOptions): FastifyInstance {
  const { lan, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const http = {
    requestTimeout: requestTimeoutMs,
    // Node wants headers to be late no later than the whole.
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(LATE_CHECK_MS, requestTimeoutMs),
    // The access guard answers a missing Host in the shape of all errors.
    requireHostHeader: false,
  };
  const app: FastifyInstance = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request' }),
    bodyLimit: options.bodyLimit ?? DEFAULT_BODY_LIMIT,
    forceCloseConnections: true,
    requestTimeout: requestTimeoutMs,
    http,
    genReqId: () => randomBytes(12).toString('hex'),
    clientErrorHandler: answerBrokenRequest,
    ...(lan && {
      serverFactory: (handler: RequestListener): Server => {
        const { cert, key } = lan.tls;
        return createHttps({ cert, key, minVersion: 'TLSv1.2', ...http }, handler);
      },
    }),
    routerOptions: { maxParamLength: 512 },
    frameworkErrors: (error, _request, reply) => {
      const answer = asGatewayError(error);
      reply.hijack();
      reply.raw.writeHead(answer.status, { 'content-type': 'application/json; charset=utf-8' });
      reply.raw.end(JSON.stringify(answer.body()));
    },
  });
  const guard = lan ? new KeyGuard(lan.keys) : null;
  const templates = new TemplateRenderer(options.launcher ?? nodeLauncher);
  app.addHook('onClose', async () => templates.close());
  options.onModels?.(() => {
    for (const model of options.models.list()) prepareTemplate(model, templates);
  });
  const context: GatewayContext = {
    models: guard === null ? options.models : guard.metered(options.models),
    templates,
    build: options.build,
    keepAliveMs: options.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS,
    failureGraceMs: FAILURE_GRACE_MS,
  };
  const rules = options.rules ?? { allowedHosts: [], allowedOrigins: [] };

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  app.addHook('onRequest', accessGuard(rules, { loopbackOnly: lan === undefined }));
  guard?.guard(app, OPEN_PATHS);
  options.requests?.follow(app, lan === undefined ? 'loopback' : 'lan');
  app.setErrorHandler((error, request, reply) => {
    const answer = asGatewayError(error);
    if (reply.raw.destroyed) request.log.info('client left before its answer');
    else if (answer.status >= 500) request.log.error({ err: error }, 'request failed');
    if (answer.retryAfter !== null) reply.header('retry-after', String(answer.retryAfter));
    return reply.status(answer.status).send(answer.body());
  });
  app.setNotFoundHandler(unknownRoute(app));
  jsonBodies(app);

  app.options('/*', (_request, reply) => reply.status(204).send());
  app.get('/health', () => ({ status: 'ok' }));
  app.get('/ca.pem', (_request, reply) => {
    const certificate = options.caCertificate?.() ?? null;
    if (certificate !== null) return reply.type('application/x-pem-file').send(certificate);
    throw new GatewayError('This machine is in no pool, and so has no certificate of one.', { status: 404 });
  });
  app.get('/metrics', (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(metricsText(options.numbers?.() ?? [])),
  );
  modelsRoutes(app, context.models);
  chatRoute(app, context);
  app.register(async (routes) => ollamaRoutes(routes, context), { prefix: '/api' });
  completionsRoute(app, context);
  embeddingsRoute(app, context);
  responsesRoute(app, context);
  if (lan !== undefined) return app;
  app.register(
    async (api) => {
      api.addHook('onRequest', tokenGuard(options.localToken));
      api.setNotFoundHandler(unknownRoute(app));
      rpcRoute(api, rpcMethods);
      options.apiRoutes?.(api);
    },
    { prefix: '/api' },
  );
  return app;
}

const rpcMethods: ReadonlyMap<string, RpcMethod> = new Map([['clusterPlan', clusterPlan]]);

/** 405 with `Allow` where the address takes another method, else 404. */
function unknownRoute(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => never {
  return ({ method, url: whole }, reply) => {
    const [url = ''] = whole.split('?');
    const allowed = METHODS.filter((other) => app.hasRoute({ method: other, url }));
    const asked = `${method} ${whole.slice(0, 200)}`;
    if (allowed.length === 0)
      throw new GatewayError(`There is no ${asked} here.`, { status: 404, code: 'unknown_url' });
    reply.header('allow', [...allowed, 'OPTIONS'].join(', '));
    const message = `There is no ${asked} here; this address takes ${allowed.join(', ')}.`;
    throw new GatewayError(message, { status: 405, code: 'method_not_allowed' });
  };
}
