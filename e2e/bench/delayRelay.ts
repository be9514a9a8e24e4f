import { connect, createServer, type Server, type Socket } from 'node:net';
import { Alarm } from './alarm.ts';

interface Way {
  /** What is under way, the oldest first. */
  queue: { at: number; chunk: Buffer }[];
  /** When the last byte that came in has left. */
  freeAt: number;
  to: Socket;
}

/**
 * A network between two processes of this machine: everything that passes arrives `oneWayMs` later, in order, and each
 * direction of a connection carries `bytesPerSecond`.
 */
export class DelayRelay {
  /** Half of the round trip, ms; may be changed while connections are open. */
  oneWayMs = 0;
  bytesPerSecond = Number.POSITIVE_INFINITY;
  readonly #routes = new Map<string, Promise<{ server: Server; address: string }>>();
  readonly #sockets = new Set<Socket>();
  readonly #ways = new Set<Way>();
  readonly #alarm = new Alarm(() => this.#deliver());

  /** The address by which `target` (`host:port`) is reached through the relay. */
  readonly route = async (target: string): Promise<string> => {
    let route = this.#routes.get(target);
    if (route === undefined) {
      route = this.#listen(target);
      this.#routes.set(target, route);
    }
    return (await route).address;
  };

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    for (const route of this.#routes.values()) (await route).server.close();
    await this.#alarm.close();
  }

  #listen(target: string): Promise<{ server: Server; address: string }> {
    const colon = target.lastIndexOf(':');
    const [host, port] = [target.slice(0, colon), Number(target.slice(colon + 1))];
    const server = createServer((near) => {
      const far = connect({ host, port });
      this.#pass(near, far);
      this.#pass(far, near);
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const bound = server.address();
        if (bound === null || typeof bound === 'string') return reject(new Error('The relay has no port.'));
        resolve({ server, address: `127.0.0.1:${bound.port}` });
      });
    });
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    const way: Way = { queue: [], freeAt: 0, to };
    this.#ways.add(way);
    from.on('data', (chunk) => {
      if (this.oneWayMs === 0 && this.bytesPerSecond === Number.POSITIVE_INFINITY && way.queue.length === 0) {
        to.write(chunk);
        return;
      }
      way.freeAt = Math.max(way.freeAt, performance.now()) + (chunk.length / this.bytesPerSecond) * 1000;
      const at = way.freeAt + this.oneWayMs;
      way.queue.push({ at, chunk });
      if (way.queue.length === 1) this.#alarm.set(at);
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      this.#ways.delete(way);
      to.destroy();
    });
  }

  #deliver(): void {
    const now = performance.now();
    let soonest = Number.POSITIVE_INFINITY;
    for (const { queue, to } of this.#ways) {
      while (queue[0] !== undefined && queue[0].at <= now) {
        to.write(queue[0].chunk);
        queue.shift();
      }
      soonest = Math.min(soonest, queue[0]?.at ?? Number.POSITIVE_INFINITY);
    }
    if (soonest < Number.POSITIVE_INFINITY) this.#alarm.set(soonest);
  }
}
