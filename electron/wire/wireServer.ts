import {
  logVerbosity,
  Server,
  type ServiceDefinition,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { commonOptions } from './channelOptions.ts';
import { serverCredentials } from './credentials.ts';
import { memberIdOfCertificate } from './memberId.ts';
import type { TlsMaterial } from './tlsMaterial.ts';
import { WireError } from './wireError.ts';

// What goes wrong is a typed error of the call that it concerns; grpc-js would print it as well.
setLogVerbosity(logVerbosity.NONE);

/** How long calls may take to end by themselves when a server closes, ms. */
const CLOSE_GRACE_MS = 1000;

/** The address cannot be listened on: taken, or not this machine's. */
export class ListenFailed extends WireError {}

/** One gRPC service with what answers it. */
export interface ServedService {
  definition: ServiceDefinition;
  handlers: UntypedServiceImplementation;
}

/** A listening gRPC server that admits only members of the pool. */
export class WireServer {
  /** `host:port`, with the port that was really bound. */
  readonly address: string;
  readonly #server: Server;

  private constructor(server: Server, address: string) {
    this.#server = server;
    this.address = address;
  }

  /** Listens on `host` (a literal address) and `port`, 0 for any free one. Throws ListenFailed. */
  static async start(options: {
    tls: TlsMaterial;
    host: string;
    port: number;
    services: ServedService[];
  }): Promise<WireServer> {
    const server = new Server(commonOptions);
    for (const { definition, handlers } of options.services) server.addService(definition, handlers);
    const host = options.host.includes(':') ? `[${options.host}]` : options.host;
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`${host}:${options.port}`, serverCredentials(options.tls), (cause, bound) => {
        if (cause === null) resolve(bound);
        else reject(new ListenFailed(`Cannot listen on ${host}:${options.port}: ${cause.message}`, { cause }));
      });
    });
    return new WireServer(server, `${host}:${port}`);
  }

  /** Takes no more calls, gives those that run a moment to end, and cuts the rest. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#server.forceShutdown();
        resolve();
      }, CLOSE_GRACE_MS);
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** The member at the other end of a call, by its certificate; null when it showed none. */
export function peerOf(call: { getAuthContext(): { sslPeerCertificate?: { raw: Uint8Array } } }): string | null {
  const certificate = call.getAuthContext().sslPeerCertificate;
  return certificate === undefined ? null : memberIdOfCertificate(certificate.raw);
}
