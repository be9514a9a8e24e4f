import type { Socket } from 'node:net';

const LOOK_MS = 500;
/** Many times what a healthy process may be kept from answering on a machine whose cores are all busy. */
const SILENCE_MS = 12_000;

/**
 * Ends a connection whose other end hangs without closing it: both ends ping every other second, so that something always
 * comes. Only looks are counted, so time in which this process itself stood still is no silence of the other.
 */
export function endWhenSilent(socket: Socket, silenceMs = SILENCE_MS): void {
  let seen = socket.bytesRead;
  let silentLooks = 0;
  const timer = setInterval(() => {
    const read = socket.bytesRead;
    silentLooks = read === seen ? silentLooks + 1 : 0;
    seen = read;
    if (silentLooks * LOOK_MS >= silenceMs) socket.destroy();
  }, LOOK_MS).unref();
  socket.once('close', () => clearInterval(timer));
}
