import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const AT_ONCE = 100;

/**
 * Opens `count` connections to `address`, a hundred at a time. `greet` gets each one when it is up; it is then waited for
 * until the server cuts it, or, with `hold`, left open. Returns the sockets that were left open.
 */
export async function flood(
  address: string,
  count: number,
  greet: (socket: Socket, index: number) => void,
  hold = false,
): Promise<Socket[]> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const held: Socket[] = [];
  let next = 0;
  const one = (index: number): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.on('connect', () => {
        greet(socket, index);
        if (!hold) return;
        held.push(socket);
        resolve();
      });
    });
  const worker = async (): Promise<void> => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return held;
}

/** Bytes that this process holds once its garbage has been collected. */
export function residentBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('this runtime lets nobody collect garbage');
  collect();
  return process.memoryUsage().rss;
}
