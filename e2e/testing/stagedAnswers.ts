import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** Answers of a chat model in pieces that the test hands out one by one. */
export class StagedAnswers {
  #response: ServerResponse | null = null;
  #asked: (() => void) | null = null;

  readonly route = (app: FastifyInstance): void => {
    app.post('/v1/chat/completions', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
      this.#response = reply.raw;
      this.#asked?.();
    });
  };

  /** Resolves when somebody asks. */
  async asked(): Promise<void> {
    if (this.#response !== null) return;
    await new Promise<void>((resolve) => {
      this.#asked = resolve;
    });
  }

  say(content: string): void {
    this.#write(JSON.stringify({ choices: [{ delta: { content } }] }));
  }

  /** Ends the answer that is under way. */
  end(completionTokens: number): void {
    this.#write(JSON.stringify({ choices: [], usage: { completion_tokens: completionTokens } }));
    this.#write('[DONE]');
    this.#response?.end();
    this.#response = null;
    this.#asked = null;
  }

  #write(data: string): void {
    if (this.#response === null) throw new Error('Nobody has asked.');
    this.#response.write(`data: ${data}\n\n`);
  }
}
