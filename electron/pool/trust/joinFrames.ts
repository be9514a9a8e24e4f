import type { TLSSocket } from 'node:tls';

const LENGTH_BYTES = 4;

/** The connection ended, or sent too much, before a whole message had come. */
export class BrokenFrame extends Error {}

/** Sends one message: four bytes of length, big endian, and the bytes. */
export function writeFrame(socket: TLSSocket, message: Uint8Array): void {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(message.length);
  socket.write(Buffer.concat([length, message]));
}

/** Receives one message of at most `limit` bytes. Rejects with BrokenFrame; reads nothing beyond the message. */
export function readFrame(socket: TLSSocket, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const finish = (): void => {
      socket.off('data', take).off('end', broken).off('close', broken);
      socket.pause();
    };
    const broken = (): void => {
      finish();
      reject(new BrokenFrame('The connection ended before a whole message had come.'));
    };
    const take = (bytes: Buffer): void => {
      received = Buffer.concat([received, bytes]);
      if (received.length < LENGTH_BYTES) return;
      const end = LENGTH_BYTES + received.readUInt32BE(0);
      if (end - LENGTH_BYTES > limit || received.length > end) {
        finish();
        reject(new BrokenFrame('The message is too long.'));
      } else if (received.length === end) {
        finish();
        resolve(received.subarray(LENGTH_BYTES));
      }
    };
    socket.on('data', take).on('end', broken).on('close', broken);
    if (socket.destroyed) broken();
  });
}
