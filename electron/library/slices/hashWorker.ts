import { createHash, type Hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { HashAnswer, HashPiece } from './fileHasher.ts';

/** The thread of FileHasher. */

const buffer = Buffer.allocUnsafeSlow(1 << 20);
const jobs = new Map<number, Hash>();

parentPort?.on('message', (piece: HashPiece) => {
  const answer = (result: Omit<HashAnswer, 'id'>): void => parentPort?.postMessage({ id: piece.id, ...result });
  try {
    const hash = jobs.get(piece.id) ?? createHash('sha256');
    jobs.set(piece.id, hash);
    read(piece, hash);
    if (!piece.isLast) return answer({ sha256: null, problem: null });
    jobs.delete(piece.id);
    answer({ sha256: hash.digest('hex'), problem: null });
  } catch (cause) {
    jobs.delete(piece.id);
    answer({ sha256: null, problem: cause instanceof Error ? cause.message : String(cause) });
  }
});

function read({ path, at, bytes }: HashPiece, hash: Hash): void {
  if (bytes === 0) return;
  const file = openSync(path, 'r');
  try {
    for (let done = 0; done < bytes; ) {
      const count = readSync(file, buffer, 0, Math.min(buffer.byteLength, bytes - done), at + done);
      if (count === 0) throw new Error('the file ends before that');
      hash.update(buffer.subarray(0, count));
      done += count;
    }
  } finally {
    closeSync(file);
  }
}
