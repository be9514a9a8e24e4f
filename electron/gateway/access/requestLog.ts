import type { FastifyInstance } from 'fastify';
import type { RecentRequest } from '../memberApi.ts';

const MOST_KEPT = 50;
/** Paths below which models are asked, beside `/v1/`. */
const OLLAMA_PATHS = ['/api/chat', '/api/generate', '/api/embed'];
const LONGEST_MODEL = 200;

/** The last requests to models, for their owner: what was asked and how it went, never what was said. */
export class RequestLog {
  readonly #onChange: () => void;
  #recent: readonly RecentRequest[] = [];

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Newest first, at most 50. */
  get recent(): readonly RecentRequest[] {
    return this.#recent;
  }

  /** Notes what this server answers from now on; `from` tells its requests apart from those of others. */
  follow(app: FastifyInstance, from: RecentRequest['from']): void {
    app.addHook('onResponse', async (request, reply) => {
      const [path = ''] = request.url.split('?');
      if (request.method !== 'POST' || !(path.startsWith('/v1/') || OLLAMA_PATHS.includes(path))) return;
      const ms = Math.round(reply.elapsedTime);
      this.#recent = [
        {
          id: request.id,
          atMs: Date.now() - ms,
          path: path.slice(0, LONGEST_MODEL),
          model: modelOf(request.body),
          status: reply.raw.writableFinished ? reply.statusCode : null,
          ms,
          from,
        },
        ...this.#recent,
      ].slice(0, MOST_KEPT);
      this.#onChange();
    });
  }
}

function modelOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('model' in body)) return null;
  return typeof body.model === 'string' ? body.model.slice(0, LONGEST_MODEL) : null;
}
