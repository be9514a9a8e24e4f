import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { modelFingerprint } from '../../electron/gguf/modelFingerprint.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { generateModel } from '../models/generateModel.ts';
import { TestPool } from '../testing/testPool.ts';
import { HolderProcess, type ReceiverNews, startReceiver } from './sliceProcesses.ts';

const KILLS = 20;

/** Bytes that a process has handed to the system to write, sockets and all. */
function writtenBy(child: ChildProcess): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${child.pid}/io`, 'utf8'))?.[1]);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

// What a process has written is told by /proc.
test.runIf(process.platform === 'linux')(
  `killing receiver or holder ${KILLS} times at random ends complete and correct, with at most 5 percent written twice`,
  async () => {
    const pool = await TestPool.create();
    let holder: HolderProcess | null = null;
    let receiver: ChildProcess | null = null;
    try {
      const path = join(pool.home, 'model.gguf');
      const shape = { layers: 16, width: 1024, heads: 8, kvHeads: 8, feedForward: 3072, vocabulary: 4000, tied: true };
      const types = { embedding: 'Q8_0', attention: 'Q8_0', feedForward: 'Q8_0' } as const;
      await generateModel(path, { architecture: 'llama', ...shape, seed: 1, types });
      const model = await openModel(path);
      const range = { startLayer: 0, endLayer: 15 };
      const [near, far] = [await pool.member(), await pool.member()];
      holder = await HolderProcess.start({ tls: far.tls, path, bytesPerSecond: 150e6 });
      const { address } = holder;
      const port = Number(address.split(':').at(-1));
      const order = {
        ...{ tls: near.tls, folder: join(pool.home, 'slices'), model: modelFingerprint(model), ...range },
        holders: [{ member: far.id, addresses: [address] }],
      };
      let written = 0;
      let total = Number.NaN;
      let kills = 0;
      let wake = (): void => {};
      let last: ReceiverNews | null = null;
      const onNews = (news: ReceiverNews): void => {
        last = news;
        wake();
      };
      const news = (): Promise<void> => {
        return new Promise((resolve) => {
          wake = resolve;
        });
      };
      /** Progress at which the next one is killed: at random, one in each twentieth of the way. */
      const nextAt = (): number => (kills + Math.random()) / (KILLS + 1);
      let killAt = nextAt();
      receiver = startReceiver(order, onNews);
      for (;;) {
        await news();
        const now = last as ReceiverNews | null;
        if (now?.kind === 'failed') throw new Error(now.message);
        if (now?.kind === 'done') break;
        if (now?.kind !== 'progress') continue;
        total = now.totalBytes;
        if (kills === KILLS || now.doneBytes / now.totalBytes < killAt) continue;
        kills += 1;
        killAt = nextAt();
        if (Math.random() < 0.5) {
          receiver.kill('SIGSTOP');
          written += writtenBy(receiver);
          receiver.kill('SIGKILL');
          await once(receiver, 'exit');
          receiver = startReceiver(order, onNews);
        } else {
          holder.process.kill('SIGKILL');
          await once(holder.process, 'exit');
          holder = await HolderProcess.start({ tls: far.tls, path, port, bytesPerSecond: 150e6 });
        }
      }
      written += writtenBy(receiver);
      const done = last as ReceiverNews | null;
      expect(kills).toBe(KILLS);
      expect(total).toBeGreaterThan(200e6);
      expect(written / total).toBeLessThan(1.05);
      expect(written).toBeGreaterThanOrEqual(total);
      const stage = await cutStage(model, { start: 0, end: 15 }, join(pool.home, 'judge.gguf'));
      expect(await sha256(done?.kind === 'done' ? done.path : '')).toBe(await sha256(stage.path));
      const embedding = join(order.folder, order.model, '0-15', 'embedding.gguf');
      expect(await sha256(embedding)).toBe(await sha256(stage.embedding?.path ?? ''));
      process.stderr.write(`${(written / 1e6).toFixed(1)} MB written for ${(total / 1e6).toFixed(1)} MB\n`);
    } finally {
      receiver?.kill('SIGKILL');
      holder?.process.kill('SIGKILL');
      await pool.remove();
    }
  },
  120_000,
);
