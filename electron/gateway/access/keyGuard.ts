import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GeneratedToken, GenerateRequest, ServedModel, ServedModels } from '../../pipeline/serving/servedModel.ts';
import { GatewayError } from '../gatewayError.ts';
import type { ApiKeys } from './apiKeys.ts';

/** Requests carry a key, and what they use is counted to it, whatever route they take. */
export class KeyGuard {
  readonly #keys: Pick<ApiKeys, 'find' | 'count'>;
  readonly #current = new AsyncLocalStorage<string>();
  readonly #ids = new WeakMap<FastifyRequest, string>();

  constructor(keys: Pick<ApiKeys, 'find' | 'count'>) {
    this.#keys = keys;
  }

  /** Refuses with 401 what comes without a key to any path but those that are `open`. */
  guard(app: FastifyInstance, open: readonly string[]): void {
    app.addHook('onRequest', async (request, reply) => {
      const [path = ''] = request.url.split('?');
      if (request.method === 'OPTIONS' || open.includes(path)) return;
      const sent = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
      const id = sent === undefined ? null : this.#keys.find(sent);
      if (id === null) {
        reply.header('www-authenticate', 'Bearer');
        const message = 'This endpoint needs an API key: send Authorization: Bearer KEY. `roomful keys add` makes one.';
        throw new GatewayError(message, { status: 401, code: 'invalid_api_key' });
      }
      this.#ids.set(request, id);
      this.#keys.count(id, { requests: 1 });
    });
    // Once the body is there: what reads it would lose the store.
    app.addHook('preHandler', (request, _reply, done) => {
      const id = this.#ids.get(request);
      if (id === undefined) done();
      else this.#current.run(id, done);
    });
  }

  /** The same models, whose tokens are counted to the key of the request that asks. */
  metered(models: ServedModels): ServedModels {
    const wrap = (model: ServedModel): ServedModel => ({
      ...model,
      generate: (request, signal) => this.#generate(model, request, signal, this.#current.getStore()),
      embed: async (request, signal) => {
        const id = this.#current.getStore();
        const values = await model.embed(request, signal);
        if (id !== undefined) this.#keys.count(id, { promptTokens: request.tokens.length });
        return values;
      },
    });
    return {
      list: () => models.list().map(wrap),
      find: (name) => {
        const model = models.find(name);
        return model && wrap(model);
      },
    };
  }

  async *#generate(
    model: ServedModel,
    request: GenerateRequest,
    signal: AbortSignal,
    id: string | undefined,
  ): AsyncGenerator<GeneratedToken> {
    let completionTokens = 0;
    let seated = false;
    const onSeated = (seat: { cachedTokens: number }): void => {
      seated = true;
      request.onSeated?.(seat);
    };
    try {
      for await (const token of model.generate({ ...request, onSeated }, signal)) {
        completionTokens += 1;
        yield token;
      }
    } finally {
      const promptTokens = seated || completionTokens > 0 ? request.promptTokens.length : 0;
      if (id !== undefined) this.#keys.count(id, { promptTokens, completionTokens });
    }
  }
}
