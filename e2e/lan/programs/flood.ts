import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { flood } from '../../testing/flood.ts';

/**
 * Floods all the addresses that are its arguments at once. On standard input `garbage COUNT` opens so many connections to
 * each, which say nonsense and are waited for until the other side cuts them; `hold COUNT` opens so many and leaves them
 * half-open, in the middle of a handshake or before it; `release` closes those. Each is answered by `done`.
 */
const addresses = process.argv.slice(2);
const garbage = randomBytes(300);
/** The begin of a client hello: its record promises more bytes than ever come. */
const HALF_HELLO = '\x16\x03\x01\x02\x00\x01';
const held: Socket[] = [];

async function obey(line: string): Promise<void> {
  const [order, count] = line.split(' ');
  const each = (greet: (socket: Socket, index: number) => void, hold: boolean): Promise<Socket[][]> =>
    Promise.all(addresses.map((address) => flood(address, Number(count), greet, hold)));
  if (order === 'garbage') await each((socket) => socket.end(garbage), false);
  if (order === 'hold') {
    const sockets = await each((socket, index) => index % 2 === 0 && socket.write(HALF_HELLO), true);
    held.push(...sockets.flat());
  }
  if (order === 'release') for (const socket of held.splice(0)) socket.destroy();
}

for await (const line of createInterface(process.stdin)) {
  await obey(line);
  process.stdout.write('done\n');
}
