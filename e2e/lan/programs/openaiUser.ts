import { createInterface } from 'node:readline';
import OpenAI from 'openai';
import { z } from 'zod';

/**
 * Somebody with the official OpenAI client on a machine of the LAN. The first argument is the gateway, the second, where it asks
 * for one, the key; each line of standard input is a request, each line of standard output says what came of one.
 */
const requestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('models'), id: z.number() }),
  z.object({
    kind: z.literal('chat'),
    id: z.number(),
    model: z.string(),
    question: z.string(),
    mostTokens: z.number().optional(),
  }),
  z.object({
    kind: z.literal('embed'),
    id: z.number(),
    model: z.string(),
    input: z.array(z.string()).or(z.array(z.array(z.number()))),
    dimensions: z.number().optional(),
  }),
  z.object({ kind: z.literal('leave'), id: z.number() }),
]);

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: process.argv[3] ?? 'unused', maxRetries: 0 });
const streams = new Map<number, AbortController>();
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

async function answer(line: string): Promise<void> {
  const request = requestSchema.parse(JSON.parse(line));
  const { id } = request;
  try {
    switch (request.kind) {
      case 'models': {
        const { data } = await client.models.list();
        say({ id, event: 'end', models: data.map((model) => model.id) });
        break;
      }
      case 'embed': {
        const { model, input, dimensions } = request;
        // By itself it asks for base64.
        const { data, usage } = await client.embeddings.create({ model, input, ...(dimensions && { dimensions }) });
        say({ id, event: 'end', vectors: data.map(({ embedding }) => embedding), tokens: usage.prompt_tokens });
        break;
      }
      case 'leave':
        streams.get(id)?.abort();
        break;
      case 'chat':
        await chat(request);
    }
  } catch (cause) {
    const status = cause instanceof OpenAI.APIError ? (cause.status ?? 0) : 0;
    say({ id, event: 'error', status, message: cause instanceof Error ? cause.message : String(cause) });
  }
}

async function chat(request: Extract<z.infer<typeof requestSchema>, { kind: 'chat' }>): Promise<void> {
  const { id, model, question, mostTokens } = request;
  const leave = new AbortController();
  streams.set(id, leave);
  const stream = await client.chat.completions.create(
    {
      model,
      temperature: 0,
      messages: [{ role: 'user', content: question }],
      stream: true,
      ...(mostTokens !== undefined && { max_tokens: mostTokens }),
    },
    { signal: leave.signal },
  );
  let text = '';
  let finish: string | null = null;
  for await (const { choices } of stream) {
    const [choice] = choices;
    const piece = choice?.delta.content ?? '';
    finish = choice?.finish_reason ?? finish;
    if (piece === '') continue;
    text += piece;
    say({ id, event: 'piece' });
  }
  say({ id, event: 'end', text, finish });
}

createInterface({ input: process.stdin }).on('line', (line) => void answer(line));
say({ event: 'ready' });
