import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { parentPort } from 'node:worker_threads';

/** What a client is asked for: one streamed answer. */
export interface StreamOrder {
  id: number;
  port: number;
  path: string;
  body: string;
}

/** When it was asked for and when each piece of its text was there, ms since 1970. */
export interface StreamTimes {
  id: number;
  sent: number;
  arrived: number[];
}

/** A thread that is a client, so that its work is not taken for the gateway's. It keeps its connections, as clients do. */

const agent = new Agent({ keepAlive: true });
const now = (): number => performance.timeOrigin + performance.now();

async function stream({ id, port, path, body }: StreamOrder): Promise<StreamTimes> {
  const sent = now();
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, headers, agent });
  request.end(body);
  const [response] = await once(request, 'response');
  const arrived: number[] = [];
  let rest = '';
  for await (const chunk of response) {
    const at = now();
    const events = (rest + String(chunk)).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) if (/"delta":\{"content":"[^"]/.test(event)) arrived.push(at);
  }
  return { id, sent, arrived };
}

parentPort?.on('message', (order: StreamOrder) => {
  stream(order).then(
    (times) => parentPort?.postMessage(times),
    (cause: unknown) => {
      throw cause;
    },
  );
});
