import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { admitRequest } from '../admitRequest.ts';
import type { GatewayContext } from '../gatewayContext.ts';
import { asGatewayError, GatewayError, invalidField } from '../gatewayError.ts';
import { generateText } from '../generateText.ts';
import { disconnectSignal } from '../http/disconnectSignal.ts';
import { sendLines } from '../http/sendLines.ts';
import { started } from '../http/started.ts';
import { writing } from '../openai/modelsRoutes.ts';
import type { TextEvent } from '../textRequest.ts';
import { type OllamaCall, ollamaTextRequest, readOllamaChat, readOllamaGenerate } from './ollamaBody.ts';
import { findTagged, modelRunning, modelShown, modelTag } from './ollamaModels.ts';
import { nothingSaid, type OllamaText, type OllamaWord, ollamaWords } from './ollamaWords.ts';

/**
 * The routes of Ollama that editors speak: `tags`, `ps`, `show`, `version`, `chat` and `generate`, errors as `{"error": "..."}`. Its clients
 * send no token, so these ask for none; they answer no more than `/v1` does.
 */
export function ollamaRoutes(routes: FastifyInstance, context: GatewayContext): void {
  const { models, build } = context;
  routes.setErrorHandler((error, request, reply) => {
    const answer = asGatewayError(error);
    if (reply.raw.destroyed) request.log.info('client left before its answer');
    else if (answer.status >= 500) request.log.error({ err: error }, 'request failed');
    if (answer.retryAfter !== null) reply.header('retry-after', String(answer.retryAfter));
    return reply.status(answer.status).send({ error: answer.message });
  });
  routes.get('/version', () => ({ version: build }));
  routes.get('/tags', () => ({ models: models.list().map(modelTag) }));
  routes.get('/ps', () => ({ models: models.list().map(modelRunning) }));
  for (const path of ['/embed', '/embeddings'])
    routes.post(path, () => notHere('Embeddings are given by /v1/embeddings.'));
  for (const path of ['/pull', '/push', '/create', '/copy']) routes.post(path, () => notHere(byRoomful));
  routes.delete('/delete', () => notHere(byRoomful));
  routes.post('/show', (request) => modelShown(models, request.body));
  routes.post('/chat', (request, reply) =>
    answer({ request, reply }, context, readOllamaChat(request.body), ({ text, thinking, calls }) => ({
      message: {
        ...{ role: 'assistant', content: text, ...(thinking === '' ? {} : { thinking }) },
        ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => ({ function: call })) }),
      },
    })),
  );
  routes.post('/generate', (request, reply) =>
    answer({ request, reply }, context, readOllamaGenerate(request.body), ({ text, thinking }) => ({
      response: text,
      ...(thinking === '' ? {} : { thinking }),
    })),
  );
}

const byRoomful = 'Models come and go by the window or the commands of roomful.';

function notHere(instead: string): never {
  throw new GatewayError(`This route of Ollama is not here. ${instead}`, { status: 404, code: 'unknown_url' });
}

async function answer(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { models, templates, keepAliveMs, failureGraceMs }: GatewayContext,
  { model: name, stream, said, context, settings }: OllamaCall,
  word: (said: OllamaText) => object,
): Promise<object | undefined> {
  const signal = disconnectSignal(reply);
  const model = writing(findTagged(models, name));
  if (context > model.contextLength) {
    const message = `options.num_ctx: the context of ${model.id} holds ${model.contextLength} tokens; it is set when it is served.`;
    throw invalidField('options.num_ctx', message);
  }
  const head = () => ({ model: name, created_at: new Date().toISOString() });
  if (said === null) return { ...head(), ...word(nothingSaid), done: true, done_reason: 'load' };
  const begun = performance.now();
  const admitted = await admitRequest(await ollamaTextRequest(settings, said, { model, templates }), 'messages');
  const { promptTokens, maxTokens, seed } = admitted;
  request.log.info({ model: model.id, promptTokens: promptTokens.length, maxTokens, seed }, 'generation admitted');
  const words = (source: AsyncIterable<TextEvent>) => ollamaWords(source, { head, word, begun });
  if (stream) {
    await sendLines(
      reply,
      linesOf(words(await started((goes) => generateText(admitted, signal, { onSeated: goes }), failureGraceMs))),
      {
        signal,
        keepAliveMs,
        // Its clients take every line for JSON, so it is one that says nothing.
        idle: () => ({ ...head(), ...word(nothingSaid), done: false }),
        wordError: (error) => {
          request.log.error({ err: error }, 'stream ended with an error');
          return { error: asGatewayError(error).message };
        },
      },
    );
    return undefined;
  }
  const all: OllamaText = { ...nothingSaid, calls: [] };
  let last = {};
  for await (const { text, thinking, calls, line } of words(generateText(admitted, signal))) {
    all.text += text;
    all.thinking += thinking;
    all.calls.push(...calls);
    last = line;
  }
  return { ...last, ...word(all) };
}

async function* linesOf(words: AsyncIterable<OllamaWord>): AsyncGenerator<object> {
  for await (const { line } of words) yield line;
}
