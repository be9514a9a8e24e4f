import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { TlsMaterial } from '../../electron/wire/tlsMaterial.ts';

/** The programs of this folder, from the sources as from dist. */
function program(name: string): string {
  const here = import.meta.url;
  const folder = here.endsWith('.ts') ? '../../dist/e2e/slices/programs' : './programs';
  return fileURLToPath(new URL(`${folder}/${name}.js`, here));
}

export interface HolderOrder {
  tls: TlsMaterial;
  path: string;
  /** 0 for any free one. */
  port?: number;
  bytesPerSecond?: number | null;
  hashes?: readonly (readonly [string, string])[];
  bareBytes?: number | null;
}

const startedSchema = z.object({ address: z.string(), bare: z.int() });
const reportSchema = z.object({
  p99Ms: z.number(),
  rss: z.number(),
  /** Of the processor, since the last `reset`. */ cpuMs: z.number(),
});

/** A holder in a process of its own. */
export class HolderProcess {
  readonly process: ChildProcess;
  readonly address: string;
  /** Port of the bare socket. */
  readonly bare: number;

  private constructor(child: ChildProcess, { address, bare }: z.infer<typeof startedSchema>) {
    this.process = child;
    this.address = address;
    this.bare = bare;
  }

  static async start({ port = 0, bytesPerSecond = null, hashes = [], bareBytes = null, ...order }: HolderOrder) {
    const child = fork(program('holder'), { execArgv: [] });
    child.send({ kind: 'start', ...order, port, bytesPerSecond, hashes, bareBytes });
    const [message] = await once(child, 'message');
    return new HolderProcess(child, startedSchema.parse(message));
  }

  /** Measures from now on. */
  async reset(): Promise<void> {
    this.process.send({ kind: 'reset' });
    await once(this.process, 'message');
  }

  async report(): Promise<z.infer<typeof reportSchema>> {
    this.process.send({ kind: 'report' });
    return reportSchema.parse((await once(this.process, 'message'))[0]);
  }
}

export interface ReceiverOrder {
  tls: TlsMaterial;
  folder: string;
  model: string;
  startLayer: number;
  endLayer: number;
  holders: { member: string; addresses: string[] }[];
}

const newsSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('progress'), doneBytes: z.number(), totalBytes: z.number() }),
  z.object({ kind: z.literal('problem'), message: z.string() }),
  z.object({
    kind: z.literal('done'),
    path: z.string(),
    /** Until the file was whole and flushed, and until its last byte had come. */
    ms: z.number(),
    fetchedMs: z.number(),
    rss: z.number(),
    /** Of the processor, its own alone. */
    cpuMs: z.number(),
  }),
  z.object({ kind: z.literal('failed'), message: z.string() }),
]);
export type ReceiverNews = z.infer<typeof newsSchema>;

/** Bytes between two messages of progress. */
const TELL_BYTES = 1 << 20;

/** Starts a receiver in a process of its own. */
export function startReceiver(order: ReceiverOrder, onNews: (news: ReceiverNews) => void): ChildProcess {
  const child = fork(program('receiver'), { execArgv: [] });
  child.on('message', (message) => onNews(newsSchema.parse(message)));
  child.send({ kind: 'fetch', ...order, tellBytes: TELL_BYTES });
  return child;
}

/** What a receiver has measured of itself. */
export type Received = Extract<ReceiverNews, { kind: 'done' }>;

/** A receiver that goes on, as a member does, and is asked for one thing after the other. */
export class ReceiverProcess {
  readonly process = fork(program('receiver'), { execArgv: [] });

  fetch(order: ReceiverOrder): Promise<Received> {
    return this.#ask({ kind: 'fetch', ...order, tellBytes: null });
  }

  /** As many bytes from a bare socket. */
  bare(order: { tls: TlsMaterial; port: number; bytes: number }): Promise<Received> {
    return this.#ask({ kind: 'bare', ...order });
  }

  #ask(order: object): Promise<Received> {
    return new Promise((resolve, reject) => {
      const take = (message: unknown): void => {
        const news = newsSchema.parse(message);
        if (news.kind === 'problem') return;
        this.process.off('message', take);
        if (news.kind === 'done') resolve(news);
        else reject(new Error(news.kind === 'failed' ? news.message : 'progress came that nobody had asked for'));
      };
      this.process.on('message', take);
      this.process.send(order);
    });
  }
}
