import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import { ConnectionGate } from './connectionGate.ts';
import { Standstill } from './standstill.ts';
import { WireError } from './wireError.ts';

/** Most connections at a time that have not proved who they are. */
const UNPROVEN_LIMIT = 256;
/** How long such a proof may take, ms; a busy machine needs more than a moment. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** The address cannot be listened on: taken, or not this machine's. */
export class ListenFailed extends WireError {}

/** What the server side of a connection shows and wants, PEM. With `ca`, only certificates that it signed get in. */
export interface ServerMaterial {
  cert: string;
  key: string;
  ca?: string;
}

export interface SecureListenerOptions {
  material: ServerMaterial;
  /** Literal address. */
  host: string;
  /** 0 for any free one. */
  port: number;
  /** The protocols of which both ends must speak one (ALPN), the first preferred. */
  protocols: string[];
  /** Takes a connection whose handshake is done. */
  onConnection: (socket: TLSSocket, protocol: string) => void;
  /** Whether connections stay counted after the handshake, because it proves nothing yet. */
  anonymous?: boolean;
  /** Hears of every connection that did not get through its handshake. */
  onRefused?: () => void;
}

/**
 * Listens for TLS 1.3. What has not proved who it is, is bounded in number and time, so that garbage, half-open
 * connections and floods cost a fixed amount of memory and keep nobody out for long.
 */
export class SecureListener {
  /** `host:port`, with the port that was really bound. */
  readonly address: string;
  readonly port: number;
  readonly #server: Server;
  readonly #unproven: ReadonlyMap<string, Socket>;

  private constructor(server: Server, host: string, unproven: ReadonlyMap<string, Socket>) {
    const bound = server.address();
    this.port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    this.address = `${host}:${this.port}`;
    this.#server = server;
    this.#unproven = unproven;
  }

  /** Throws ListenFailed. */
  static async start(options: SecureListenerOptions): Promise<SecureListener> {
    const { material, port, protocols, onConnection, onRefused = () => {}, anonymous = false } = options;
    const server = createServer({
      ...contextOf(material),
      requestCert: material.ca !== undefined,
      rejectUnauthorized: material.ca !== undefined,
      ALPNProtocols: protocols,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      noDelay: true,
    });
    const gate = new ConnectionGate<Socket>(UNPROVEN_LIMIT);
    const unproven = new Map<string, Socket>();
    const standstill = new Standstill();
    server.once('close', () => standstill.close());
    server.on('connection', (socket: Socket) => {
      if (standstill.hasJustEnded()) {
        socket.destroy();
        return;
      }
      const { remoteAddress: source = '' } = socket;
      const key = keyOf(socket);
      unproven.set(key, socket);
      socket.once('close', () => {
        gate.leave(source, socket);
        if (unproven.get(key) === socket) unproven.delete(key);
      });
      gate.enter(source, socket)?.destroy();
    });
    server.on('secureConnection', (socket) => {
      // Errors of a connection end it, and its owner hears of that end.
      socket.on('error', () => {});
      const raw = unproven.get(keyOf(socket));
      if (raw !== undefined && !anonymous) {
        gate.leave(socket.remoteAddress ?? '', raw);
        unproven.delete(keyOf(socket));
      }
      const protocol = socket.alpnProtocol;
      if (socket.destroyed || protocol === null || protocol === false || !protocols.includes(protocol))
        socket.destroy();
      else onConnection(socket, protocol);
    });
    server.on('tlsClientError', onRefused);
    const host = options.host.includes(':') ? `[${options.host}]` : options.host;
    await new Promise<void>((resolve, reject) => {
      const fail = (cause: Error): void =>
        reject(new ListenFailed(`Cannot listen on ${host}:${port}: ${cause.message}`, { cause }));
      server.once('error', fail);
      server.listen({ host: options.host, port }, () => {
        server.off('error', fail);
        resolve();
      });
    });
    // A connection that could not be accepted (no file descriptor is left, say) must not end the process.
    server.on('error', onRefused);
    return new SecureListener(server, host, unproven);
  }

  /** What later connections are shown; those that are up stay as they are. */
  setMaterial(material: ServerMaterial): void {
    this.#server.setSecureContext(contextOf(material));
  }

  /** Listens no more and cuts what has not proved itself; the other connections are their owner's. */
  close(): void {
    this.#server.close();
    for (const socket of this.#unproven.values()) socket.destroy();
  }
}

function contextOf({ cert, key, ca }: ServerMaterial): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.3', ...(ca !== undefined && { ca }) };
}

/** The far end; no two connections of one listener have the same. */
function keyOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
