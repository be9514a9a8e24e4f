import { crashLine } from './crashLine.ts';
import {
  bootMethod,
  type EventDataOf,
  type EventOf,
  type HostContract,
  type MethodOf,
  type ParamsOf,
  type ResultOf,
  replySchema,
} from './hostContract.ts';
import { HostCrashed, HostError, HostRefused } from './hostError.ts';
import type { HostChild, HostLauncher, HostName } from './hostLauncher.ts';
import type { Backend } from './librariesFolder.ts';

/** Time to load llama.cpp and its drivers, ms. */
const BOOT_MS = 30_000;
/** Time that a host has to leave by itself, ms. */
const LEAVE_MS = 5000;
/** Of stderr, for the line that explains a crash. */
const STDERR_CHARACTERS = 8192;

interface Pending {
  method: string;
  resolve(result: unknown): void;
  reject(error: HostError): void;
  timer: NodeJS.Timeout;
  timeoutMs: number;
}

export interface HostOptions<C extends HostContract> {
  contract: C;
  host: HostName;
  launcher: HostLauncher;
  onEvent: { [E in EventOf<C>]: (data: EventDataOf<C, E>) => void };
  /** Called once when the process ends without having been told to. */
  onLost: (error: HostError) => void;
}

/** Starts a host and lets it load the addon. Rejects with a HostError, and then nothing is left running. */
export async function bootHost<C extends HostContract>(
  options: HostOptions<C>,
): Promise<{ host: HostProcess<C>; backend: Backend }> {
  const host = new HostProcess(options);
  try {
    return { host, backend: await host.boot() };
  } catch (error) {
    await host.close();
    throw error;
  }
}

/**
 * The parent's side of a host process. Every call has a deadline, and every way that the process can end rejects the calls
 * that wait for it; the parent lives on.
 */
export class HostProcess<C extends HostContract> {
  readonly #contract: C;
  readonly #host: HostName;
  readonly #child: HostChild;
  readonly #onEvent: (event: string, data: unknown) => void;
  readonly #onLost: (error: HostError) => void;
  readonly #pending = new Map<number, Pending>();
  readonly #exited: Promise<void>;
  #resolveExited: () => void = () => {};
  #nextId = 1;
  #stderr = '';
  #gone: HostError | null = null;
  #leaving = false;

  constructor(options: HostOptions<C>) {
    this.#contract = options.contract;
    this.#host = options.host;
    this.#onLost = options.onLost;
    const handlers: Record<string, ((data: never) => void) | undefined> = options.onEvent;
    this.#onEvent = (event, data) => handlers[event]?.(data as never);
    this.#exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
    this.#child = options.launcher.launch(options.host, {
      onSpawn: () => {},
      onMessage: (message) => this.#receive(message),
      onStderr: (text) => {
        this.#stderr = (this.#stderr + text).slice(-STDERR_CHARACTERS);
      },
      onExit: (exit) => this.#exit(exit),
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Lets the host load the addon; before any other call. */
  async boot(): Promise<Backend> {
    return bootMethod.result.parse(await this.#ask('boot', { parentPid: process.pid }, BOOT_MS)).backend;
  }

  /** Asks the host. Rejects with HostRefused, HostCrashed or a HostError of another kind. */
  async call<M extends MethodOf<C>>(method: M, params: ParamsOf<C, M>, timeoutMs: number): Promise<ResultOf<C, M>> {
    const result = this.#contract.methods[method]?.result.safeParse(await this.#ask(method, params, timeoutMs));
    if (result?.success) return result.data as ResultOf<C, M>;
    throw this.#misbehaved(`answered '${method}' with something else`, result?.error);
  }

  /** Starts the deadlines of the calls to `method` anew: the host has shown that it gets on. */
  extend(method: MethodOf<C>): void {
    for (const pending of this.#pending.values()) if (pending.method === method) pending.timer.refresh();
  }

  /** Lets the host leave, makes it leave when it does not, and resolves when it is gone. */
  async close(): Promise<void> {
    if (this.#gone === null && !this.#leaving) {
      this.#leaving = true;
      this.#child.send({ id: this.#nextId, method: 'leave', params: null });
    }
    const timer = setTimeout(() => this.#child.kill(), LEAVE_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #ask(method: string, params: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#gone !== null) return Promise.reject(this.#gone);
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#expire(id), timeoutMs);
      this.#pending.set(id, { method, resolve, reject, timer, timeoutMs });
      this.#child.send({ id, method, params });
    });
  }

  #receive(message: unknown): void {
    const parsed = replySchema.safeParse(message);
    if (!parsed.success) {
      this.#misbehaved('sent a message that is none', parsed.error);
      return;
    }
    const reply = parsed.data;
    if ('event' in reply) {
      const data = this.#contract.events[reply.event]?.safeParse(reply.data);
      if (data?.success) this.#onEvent(reply.event, data.data);
      else this.#misbehaved(`sent a wrong event '${reply.event}'`, data?.error);
      return;
    }
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    this.#pending.delete(reply.id);
    clearTimeout(pending.timer);
    if ('error' in reply) pending.reject(new HostRefused(reply.error.code, reply.error.message));
    else pending.resolve(reply.result);
  }

  #expire(id: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    const what = `The ${this.#host} process did not answer '${pending.method}'`;
    pending.reject(new HostError('HostTimedOut', `${what} within ${pending.timeoutMs} ms.`));
  }

  #misbehaved(what: string, cause: unknown): HostError {
    const error = new HostError('HostMisbehaved', `The ${this.#host} process ${what}.`, { cause });
    this.#end(error);
    this.#child.kill();
    return error;
  }

  #exit(exit: { signal: string | null; exitCode: number | null; error: Error | null }): void {
    const line = exit.error?.message ?? crashLine(this.#stderr);
    this.#end(
      this.#leaving
        ? new HostError('HostClosed', `The ${this.#host} process has been closed.`)
        : new HostCrashed(this.#host, { ...exit, line }),
    );
    this.#resolveExited();
  }

  #end(error: HostError): void {
    if (this.#gone !== null) return;
    this.#gone = error;
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
    if (!this.#leaving) this.#onLost(error);
  }
}
