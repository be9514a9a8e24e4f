import type { TLSSocket } from 'node:tls';
import { ConnectionGate } from './connectionGate.ts';

/** Most connections at a time of those who hold a certificate and are not admitted, and how long each may last, ms. */
const STRANGER_LIMIT = 32;
const STRANGER_TIME_MS = 5000;
/** How long the connections of a dropped member live on, so that it is told why its calls have ended, ms. */
const DROP_GRACE_MS = 200;

/** The connections of a server, by member. Who is not admitted may stay just long enough to hear so, or to be admitted. */
export class PeerSockets {
  readonly #admits: (member: string) => boolean;
  readonly #strangers = new ConnectionGate<TLSSocket>(STRANGER_LIMIT);
  readonly #sockets = new Map<string, Set<TLSSocket>>();

  constructor(admits: (member: string) => boolean) {
    this.#admits = admits;
  }

  add(member: string, socket: TLSSocket): void {
    const own = this.#sockets.get(member) ?? new Set();
    this.#sockets.set(member, own.add(socket));
    socket.once('close', () => {
      own.delete(socket);
      if (own.size === 0 && this.#sockets.get(member) === own) this.#sockets.delete(member);
    });
    if (!this.#admits(member)) this.#limit(member, socket);
  }

  /** Cuts every connection of a member. */
  drop(member: string): void {
    const sockets = [...(this.#sockets.get(member) ?? [])];
    setTimeout(() => {
      // What says why is on its way: it goes out first, unless nobody takes it.
      for (const socket of sockets) socket.destroySoon();
      setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, DROP_GRACE_MS).unref();
    }, DROP_GRACE_MS).unref();
  }

  #limit(member: string, socket: TLSSocket): void {
    const timer = setTimeout(() => {
      this.#strangers.leave(member, socket);
      if (!this.#admits(member)) socket.destroy();
    }, STRANGER_TIME_MS).unref();
    socket.once('close', () => {
      clearTimeout(timer);
      this.#strangers.leave(member, socket);
    });
    this.#strangers.enter(member, socket)?.destroy();
  }
}
