import {
  logVerbosity,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  setLogVerbosity,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { CallRegistry } from './callRegistry.ts';
import { commonOptions } from './channelOptions.ts';
import { endWhenSilent } from './endWhenSilent.ts';
import { memberIdOfCertificate } from './memberId.ts';
import { PeerSockets } from './peerSockets.ts';
import { SecureListener } from './secureListener.ts';
import { SLICES_PROTOCOL } from './sliceBlocks.ts';
import type { SliceStreams } from './sliceStreams.ts';
import type { TlsMaterial } from './tlsMaterial.ts';

// What goes wrong is a typed error of the call that it concerns; grpc-js would print it as well.
setLogVerbosity(logVerbosity.NONE);

/** How long calls may take to end by themselves when a server closes, ms. */
const CLOSE_GRACE_MS = 1000;

/** One gRPC service with what answers it. */
export interface ServedService {
  definition: ServiceDefinition;
  handlers: UntypedServiceImplementation;
  /** Who may call the method of this service with that path, where that is not what the server says. */
  admits?: (member: string, path: string) => boolean;
}

export interface WireServerOptions {
  tls: TlsMaterial;
  /** Literal address. */
  host: string;
  /** 0 for any free one. */
  port: number;
  services: ServedService[];
  /** Takes the connections on which members read the bytes of models. */
  sliceStreams?: Pick<SliceStreams, 'accept' | 'close'>;
  /** Whether a member whose certificate is good may call; asked for every call. Everybody where left out. */
  admits?: (member: string) => boolean;
  /** Hears of every call of a member that was turned away, and with null of connections without a good certificate. */
  onRefused?: (member: string | null) => void;
}

/** A listening gRPC server that admits only members of the pool. */
export class WireServer {
  /** `host:port`, with the port that was really bound. */
  readonly address: string;
  readonly #server: Server;
  readonly #listener: SecureListener;
  readonly #calls: CallRegistry;
  readonly #sockets: PeerSockets;
  readonly #closeStreams: () => void;

  private constructor(
    server: Server,
    listener: SecureListener,
    calls: CallRegistry,
    sockets: PeerSockets,
    closeStreams: () => void,
  ) {
    this.#server = server;
    this.#listener = listener;
    this.#calls = calls;
    this.#sockets = sockets;
    this.#closeStreams = closeStreams;
    this.address = listener.address;
  }

  /** Throws ListenFailed. */
  static async start(options: WireServerOptions): Promise<WireServer> {
    const { tls, host, port, services, sliceStreams, admits = () => true, onRefused = () => {} } = options;
    const ownRules = new Map<string, (member: string, path: string) => boolean>();
    for (const { definition, admits: own } of services) {
      for (const { path } of Object.values(definition)) if (own !== undefined) ownRules.set(path, own);
    }
    const calls = new CallRegistry((member, path) => (ownRules.get(path) ?? admits)(member, path), onRefused);
    const server = new Server({ ...commonOptions, interceptors: [calls.interceptor] });
    for (const { definition, handlers } of services) server.addService(definition, handlers);
    // TLS is ended here, not by grpc-js: it has no bound for handshakes, no TLS version and no way to cut a member.
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    const sockets = new PeerSockets(admits);
    const listener = await SecureListener.start({
      material: tls,
      host,
      port,
      protocols: sliceStreams === undefined ? ['h2'] : ['h2', SLICES_PROTOCOL],
      onRefused: () => onRefused(null),
      onConnection: (socket, protocol) => {
        const member = memberIdOfCertificate(socket.getPeerCertificate().raw);
        sockets.add(member, socket);
        if (protocol === SLICES_PROTOCOL) sliceStreams?.accept(member, socket);
        else {
          endWhenSilent(socket);
          injector.injectConnection(socket);
        }
      },
    });
    return new WireServer(server, listener, calls, sockets, () => sliceStreams?.close());
  }

  /** What this server shows from now on; connections that are up stay as they are. */
  setTls(tls: TlsMaterial): void {
    this.#listener.setMaterial(tls);
  }

  /** Ends every call of a member at once, with the reason NotAdmitted, and then its connections. */
  drop(member: string): void {
    this.#calls.end(member);
    this.#sockets.drop(member);
  }

  /** Takes no more calls, gives those that run a moment to end, and cuts the rest. */
  async close(): Promise<void> {
    this.#listener.close();
    this.#closeStreams();
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
