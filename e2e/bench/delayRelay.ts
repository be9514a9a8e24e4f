import { connect, createServer, type Server, type Socket } from 'node:net';

/** A network between two processes of this machine: everything that passes arrives `oneWayMs` later, in order. */
export class DelayRelay {
  /** Half of the round trip, ms; may be changed while connections are open. */
  oneWayMs = 0;
  readonly #routes = new Map<string, Promise<{ server: Server; address: string }>>();
  readonly #sockets = new Set<Socket>();

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
    const queue: { at: number; chunk: Buffer }[] = [];
    let waiting = false;
    const deliver = (): void => {
      waiting = false;
      for (let next = queue[0]; next !== undefined; next = queue[0]) {
        const wait = next.at - performance.now();
        if (wait > 0) {
          waiting = true;
          // Timers are a millisecond coarse, so the last one is polled.
          if (wait > 2) setTimeout(deliver, wait - 1);
          else setImmediate(deliver);
          return;
        }
        queue.shift();
        to.write(next.chunk);
      }
    };
    from.on('data', (chunk) => {
      if (this.oneWayMs === 0 && queue.length === 0) {
        to.write(chunk);
        return;
      }
      queue.push({ at: performance.now() + this.oneWayMs, chunk });
      if (!waiting) deliver();
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
