import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import type { HeartbeatOptions, HeartbeatOrder, HeartbeatReport } from './heartbeatContract.ts';
import { HeartbeatFailed } from './heartbeatFailed.ts';
import type { MemberPresence, MembershipView } from './membershipView.ts';
import type { MemberCard } from './presenceRecord.ts';

/** Progress of one peer is told on at most this often, ms. */
const PROGRESS_INTERVAL_MS = 200;
/** How long the thread may take to end, ms. */
const STOP_TIMEOUT_MS = 3000;
/** Wait before a thread that crashed is started again, ms. */
const RESTART_MS = 500;

export interface MembershipOptions extends HeartbeatOptions {
  /** Told once of each process that lives with this member's id, and where its control plane may be found. */
  onTwin?: (addresses: string[]) => void;
  /** Something that is wrong and stops nothing; each is told once. */
  onTrouble?: (message: string) => void;
}

/**
 * Who is in the pool, who lives, and who leads. It lives in a thread of its own with its own port, so that a member that
 * is busy does not look dead; what is answered here is what that thread saw last.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #peers: Map<string, readonly string[]>;
  readonly #listeners = new Set<(view: MembershipView) => void>();
  readonly #progressAt = new Map<string, number>();
  #card: MemberCard;
  #tls: TlsMaterial;
  #worker: Worker;
  #port: number;
  #view: MembershipView;
  #stopping = false;
  #ended: Promise<void> = Promise.resolve();

  private constructor(options: MembershipOptions, started: StartedWorker) {
    this.#options = options;
    this.#peers = new Map(options.peers);
    this.#card = options.card;
    this.#tls = options.tls;
    this.#port = started.port;
    this.#view = started.view;
    this.#worker = started.worker;
    this.#follow(started.worker);
  }

  /** Starts to beat and to listen. Throws HeartbeatFailed. */
  static async start(options: MembershipOptions): Promise<Membership> {
    return new Membership(options, await startWorker(options));
  }

  /** The port at which other members reach this heartbeat. */
  get port(): number {
    return this.#port;
  }

  get view(): MembershipView {
    return this.#view;
  }

  /** Every member of the pool by id, this one included. */
  members(): readonly MemberPresence[] {
    return this.#view.members;
  }

  /** Id of the member that leads, null while there is none. */
  coordinator(): string | null {
    return this.#view.coordinator;
  }

  /** The newest epoch; its coordinator leads unless it is lost. */
  epoch(): Epoch | null {
    return this.#view.epoch;
  }

  /** Calls `listener` with every later view, until the function that it returns is called. */
  onChange(listener: (view: MembershipView) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A further member of the pool, or where one is: `addresses` are `host:port` of its heartbeat and replace those before. */
  addPeer(peer: string, addresses: readonly string[]): void {
    this.#peers.set(peer, addresses);
    this.#send({ type: 'addPeer', peer, addresses });
  }

  /** It is no member any more: its connections end at once, and it is refused from now on. */
  removePeer(peer: string): void {
    this.#peers.delete(peer);
    this.#progressAt.delete(peer);
    this.#send({ type: 'removePeer', peer });
  }

  /** Changes what this member tells about itself. */
  setCard(changes: Partial<MemberCard>): void {
    this.#card = { ...this.#card, ...changes };
    this.#send({ type: 'card', card: this.#card });
  }

  /** Speaks with another certificate from the next connection on. */
  setTls(tls: TlsMaterial): void {
    this.#tls = tls;
    this.#send({ type: 'tls', tls });
  }

  /** A member did something that only a living one can, such as sending a frame; cheap enough to call for each. */
  noteProgress(peer: string): void {
    const now = performance.now();
    if (now - (this.#progressAt.get(peer) ?? Number.NEGATIVE_INFINITY) < PROGRESS_INTERVAL_MS) return;
    this.#progressAt.set(peer, now);
    this.#send({ type: 'progress', peer });
  }

  /** Says goodbye to the others, and stops. */
  leave(): Promise<void> {
    return this.#stop(true);
  }

  /** Stops without a word; the others see a loss. */
  stop(): Promise<void> {
    return this.#stop(false);
  }

  #send(order: HeartbeatOrder): void {
    this.#worker.postMessage(order);
  }

  async #stop(goodbye: boolean): Promise<void> {
    this.#stopping = true;
    this.#listeners.clear();
    this.#send({ type: 'stop', goodbye });
    const timer = setTimeout(() => void this.#worker.terminate(), STOP_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  #follow(worker: Worker): void {
    worker.on('message', (report: HeartbeatReport) => {
      switch (report.type) {
        case 'changed':
          this.#show(report.view);
          break;
        case 'twin':
          this.#options.onTwin?.(report.addresses);
          break;
        case 'trouble':
          this.#options.onTrouble?.(report.message);
      }
    });
    worker.once('error', (error) => this.#options.onTrouble?.(`The heartbeat crashed: ${error.message}`));
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        resolve();
        if (!this.#stopping) setTimeout(() => void this.#restart(), RESTART_MS);
      });
    });
  }

  async #restart(): Promise<void> {
    if (this.#stopping) return;
    try {
      const current = { card: this.#card, tls: this.#tls, peers: this.#peers };
      const { worker, port, view } = await startWorker({ ...this.#options, ...current });
      if (this.#stopping) {
        await worker.terminate();
        return;
      }
      this.#worker = worker;
      this.#port = port;
      this.#follow(worker);
      this.#show(view);
    } catch (error) {
      this.#options.onTrouble?.(String(error));
      setTimeout(() => void this.#restart(), RESTART_MS);
    }
  }

  #show(view: MembershipView): void {
    this.#view = view;
    for (const listener of this.#listeners) listener(view);
  }
}

interface StartedWorker {
  worker: Worker;
  port: number;
  view: MembershipView;
}

function startWorker({ home, member, tls, host, port, card, peers }: HeartbeatOptions): Promise<StartedWorker> {
  const workerData: HeartbeatOptions = { home, member, tls, host, port, card, peers };
  const worker = new Worker(workerEntry(), { workerData, execArgv: [] });
  return new Promise((resolve, reject) => {
    const take = (report: HeartbeatReport): void => {
      if (report.type === 'failed') reject(new HeartbeatFailed(report.message));
      if (report.type !== 'started') return;
      worker.off('message', take);
      worker.off('error', fail);
      resolve({ worker, port: report.port, view: report.view });
    };
    const fail = (cause: Error): void => reject(new HeartbeatFailed(cause.message, { cause }));
    worker.on('message', take);
    worker.once('error', fail);
  });
}

/** The compiled entry of the thread, also for a member that runs from the sources, as tests do. */
function workerEntry(): string {
  const here = import.meta.url;
  return fileURLToPath(new URL(`${here.endsWith('.ts') ? '../../dist/electron/pool' : '.'}/heartbeatWorker.js`, here));
}
