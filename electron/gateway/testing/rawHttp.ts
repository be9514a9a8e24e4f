import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface RawRequest {
  method: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer | null;
}

/** A request whose every header is the caller's, Host and Origin included, which fetch does not allow. */
export async function rawHttp(port: number, { method, path, headers, body }: RawRequest): Promise<RawAnswer> {
  const request = httpRequest({ host: '127.0.0.1', port, method, path, headers: headers ?? {}, agent: false });
  request.end(body ?? undefined);
  const [response] = await once(request, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString('utf8') };
}

/** The JSON events of a stream, and whether `[DONE]` ended it. */
export function readEvents(text: string): { events: unknown[]; done: boolean } {
  const data = text
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => block.slice('data: '.length));
  const done = data.at(-1) === '[DONE]';
  return { events: (done ? data.slice(0, -1) : data).map((one): unknown => JSON.parse(one)), done };
}
