import type { Server } from 'node:https';
import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { lineOf } from '../../planner/lineOf.ts';
import { readPrivateFile, writePrivateFile } from '../../pool/privateFile.ts';
import { holdsHosts, isLocal } from '../../pool/trust/certificateHosts.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { GatewayError } from '../gatewayError.ts';
import type { AccessRules } from '../http/accessRules.ts';
import type { EndpointAccess, EndpointChange } from '../memberApi.ts';

const settingsSchema = z.object({
  lan: z.boolean(),
  port: z.int().min(0).max(65_535),
  origins: z.array(z.string()),
});
type Settings = z.infer<typeof settingsSchema>;

const DEFAULT_PORT = 8443;
/** The first wait after the endpoint could not be opened; each further one is twice as long, ms. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** What the endpoint needs of the pool that this machine is in. */
export interface LanPool {
  /** Whether there is one: its CA is what clients check. */
  isIn(): boolean;
  /** Addresses of this machine, the best first. */
  hosts(): readonly string[];
  /** Literal address to listen on. */
  listenHost(): string;
  /** See PoolTrust. */
  certifyHosts(hosts: readonly string[]): Promise<void>;
  tls(): TlsMaterial;
}

export interface LanEndpointOptions {
  path: string;
  pool: LanPool;
  /** A server of HTTPS that asks for keys; it does not listen yet. */
  createServer: (tls: TlsMaterial, rules: AccessRules) => FastifyInstance;
  onChange: () => void;
  /** Hears why a later try failed. */
  onProblem: (cause: unknown) => void;
}

/**
 * Whether and how programs of other machines, and pages of other origins, may use this member's endpoint: nobody, until its
 * owner chooses. The choice is kept; where it cannot be had now `access` says why, and it is tried again by itself, ever more
 * seldom, and at once when the pool or the addresses of this machine are others.
 */
export class LanEndpoint {
  /** Of pages that may call, here and on loopback. */
  readonly rules: AccessRules;
  readonly #options: LanEndpointOptions;
  #settings: Settings;
  #server: FastifyInstance | null = null;
  #port = 0;
  #shown: TlsMaterial | null = null;
  #problem: string | null = null;
  #closed = false;
  /** The next try, and what the last one found. */
  #retry: { ground: string; timer: NodeJS.Timeout } | null = null;
  #work: Promise<void> = Promise.resolve();

  private constructor(options: LanEndpointOptions, settings: Settings) {
    this.#options = options;
    this.#settings = settings;
    const origins = (): readonly string[] => this.#settings.origins;
    this.rules = {
      allowedHosts: [],
      get allowedOrigins() {
        return origins();
      },
    };
  }

  /** What was chosen before, not begun yet. */
  static async open(options: LanEndpointOptions): Promise<LanEndpoint> {
    const text = await readPrivateFile(options.path);
    if (text === null) return new LanEndpoint(options, { lan: false, port: DEFAULT_PORT, origins: [] });
    try {
      return new LanEndpoint(options, settingsSchema.parse(JSON.parse(text)));
    } catch (cause) {
      throw new Error(`${options.path} is damaged. Delete it, and choose again who may use the endpoint.`, { cause });
    }
  }

  get access(): Omit<EndpointAccess, 'keys' | 'recent'> {
    const { lan: wanted, port, origins } = this.#settings;
    const addresses =
      this.#server === null ? [] : this.#hosts().map((host) => `https://${bracketed(host)}:${this.#port}/v1`);
    return { lan: { wanted, port, addresses, problem: this.#problem }, origins: [...origins] };
  }

  /** Rejects with one plain line where the endpoint cannot be opened; then it stays as it was. */
  async change({ lan, port, origins }: EndpointChange): Promise<void> {
    const before = this.#settings;
    const next: Settings = {
      lan: lan ?? before.lan,
      port: port ?? before.port,
      origins: origins === undefined ? before.origins : [...new Set(origins)],
    };
    const moves = next.lan !== before.lan || next.port !== before.port;
    await this.#queue(async () => {
      this.#settings = next;
      try {
        if (moves) {
          this.#stopRetrying();
          await this.#end();
          await this.#begin();
        }
        await writePrivateFile(this.#options.path, JSON.stringify(next));
      } catch (cause) {
        this.#settings = before;
        await this.#end();
        await this.#try();
        throw new GatewayError(lineOf(cause), { status: 409, code: 'endpoint_not_opened', cause });
      }
    });
    this.#options.onChange();
  }

  /** Opens what was chosen, or shows a certificate that is new; to be called at the start and after every change of the pool. */
  refresh(): Promise<void> {
    return this.#queue(async () => {
      if (this.#closed || !this.#settings.lan) return;
      const before = JSON.stringify(this.access);
      const { pool } = this.#options;
      if (this.#server !== null && !pool.isIn()) await this.#end();
      const asWanted = this.#isAsWanted();
      if (asWanted) this.#problem = null;
      if (asWanted || this.#retry?.ground !== this.#ground()) this.#stopRetrying();
      if (!asWanted && this.#retry === null) await this.#try();
      if (JSON.stringify(this.access) !== before) this.#options.onChange();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopRetrying();
    await this.#queue(() => this.#end());
  }

  /** Opens it, or gets it a certificate that fits; where that fails it tries again later. */
  async #try(tries = 1): Promise<void> {
    try {
      await (this.#server === null ? this.#begin() : this.#certify());
      this.#problem = null;
      this.#stopRetrying();
    } catch (cause) {
      this.#problem = lineOf(cause);
      this.#retryLater(tries);
    }
  }

  #retryLater(tries: number): void {
    this.#stopRetrying();
    if (this.#closed) return;
    const again = async (): Promise<void> => {
      if (this.#closed || this.#retry?.timer !== timer) return;
      const before = JSON.stringify(this.access);
      await this.#try(tries + 1);
      if (JSON.stringify(this.access) !== before) this.#options.onChange();
    };
    const timer = setTimeout(() => void this.#queue(again).catch(this.#options.onProblem), retryAfterMs(tries)).unref();
    this.#retry = { ground: this.#ground(), timer };
  }

  #stopRetrying(): void {
    clearTimeout(this.#retry?.timer);
    this.#retry = null;
  }

  /** What a try depends on, as far as it is known here. */
  #ground(): string {
    const { pool } = this.#options;
    return JSON.stringify([pool.isIn() ? pool.tls().cert : null, this.#hosts()]);
  }

  /** It is open, and shows a certificate that fits. */
  #isAsWanted(): boolean {
    if (this.#server === null) return false;
    const { cert } = this.#options.pool.tls();
    return this.#shown?.cert === cert && holdsHosts(cert, this.#hosts());
  }

  async #begin(): Promise<void> {
    if (!this.#settings.lan || this.#closed) return;
    const { pool, createServer } = this.#options;
    if (!pool.isIn()) {
      throw new Error('This machine is in no pool, whose certificate clients could check. Run `roomful create` first.');
    }
    const hosts = this.#hosts();
    if (hosts.length === 0) throw new Error('This machine has no address of a local network.');
    await pool.certifyHosts(hosts);
    const tls = pool.tls();
    const ownHosts = (): string[] => this.#hosts().map(bracketed);
    const { rules } = this;
    const server = createServer(tls, {
      get allowedHosts() {
        return ownHosts();
      },
      get allowedOrigins() {
        return rules.allowedOrigins;
      },
    });
    try {
      const origin = await server.listen({ host: pool.listenHost(), port: this.#settings.port });
      this.#port = Number(new URL(origin).port || 443);
    } catch (cause) {
      await server.close();
      const { port } = this.#settings;
      throw new Error(`Port ${port} cannot be listened on (${lineOf(cause)}). Choose another one with --port.`, {
        cause,
      });
    }
    this.#server = server;
    this.#shown = tls;
    this.#problem = null;
  }

  async #certify(): Promise<void> {
    const { pool } = this.#options;
    try {
      await pool.certifyHosts(this.#hosts());
    } catch (cause) {
      // It goes on with the certificate that it has: some of its addresses may still be in it.
      throw new Error(`The certificate lacks an address: ${lineOf(cause)}`, { cause });
    } finally {
      this.#show(pool.tls());
    }
  }

  #show(tls: TlsMaterial): void {
    if (tls === this.#shown) return;
    // The server of `createServer` speaks HTTPS.
    const server = this.#server?.server as Server | undefined;
    server?.setSecureContext({ cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' });
    this.#shown = tls;
  }

  async #end(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#problem = null;
    await server?.close();
  }

  /** What the certificate holds and clients may ask for. */
  #hosts(): string[] {
    const names = [hostname().toLowerCase(), `${hostname().toLowerCase()}.local`];
    const addresses = this.#options.pool.hosts().filter(isLocal);
    return addresses.length === 0 ? [] : [...new Set([...addresses, ...names.filter(isLocal)])];
  }

  #queue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => {});
    return done;
  }
}

/** How long to wait after so many tries in a row that failed, ms. */
export function retryAfterMs(tries: number): number {
  return Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** Math.min(tries - 1, 16));
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
