import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import Bonjour from 'bonjour-service';
import { SERVICE_TYPE } from './announcement.ts';
import { GuardedSocket } from './guardedSocket.ts';
import type { NetworkCard } from './networkCard.ts';

/** mDNS (RFC 6762). */
const PORT = 5353;
const GROUPS = { ipv4: '224.0.0.251', ipv6: 'ff02::fb' } as const;
const HOPS = 255;

/** Services of our type in one look; what goes beyond is somebody's noise, and the library would keep it all. */
const MAX_SERVICES = 1000;

export type Family = keyof typeof GROUPS;

/** One answer, as it came: nothing of it is checked yet. */
export interface Answer {
  /** Instance name. */
  name: string;
  text: unknown;
  /** Source of the packet, with its zone where it is link-local. */
  from: string;
}

export interface ChannelOptions {
  card: NetworkCard;
  family: Family;
  /** What to announce: the instance name, its TXT record and port. */
  service: { name: string; host: string; port: number; txt: Record<string, string> };
  now: () => number;
  onAnswer: (answer: Answer) => void;
  onGoodbye: (name: string) => void;
  /** Asked for the source of every packet, also of other services: a system may hand over what came by another card. */
  accepts: (source: string) => boolean;
}

/**
 * Announces on one card in one address family, and hears there who else does. The socket is opened here and not by the
 * mDNS library: it would take one card of its choice, and end the process where the port is taken.
 */
export class DiscoveryChannel {
  readonly card: string;
  readonly family: Family;
  readonly #socket: GuardedSocket;
  readonly #bonjour: Bonjour;
  readonly #options: ChannelOptions;
  #browser: Bonjour.Browser | null = null;

  private constructor(options: ChannelOptions, socket: Socket) {
    this.card = options.card.name;
    this.family = options.family;
    this.#options = options;
    this.#socket = new GuardedSocket(socket, options);
    const group = GROUPS[options.family];
    const library = {
      type: options.family === 'ipv4' ? 'udp4' : 'udp6',
      ip: group,
      interface: interfaceOf(options.card, options.family),
      port: PORT,
      socket: this.#socket,
      bind: false,
    };
    // What cannot be sent is kept by the socket, for the self-test.
    this.#bonjour = new Bonjour(library, () => {});
    // The library asks whether the name is taken and gives up if so. Ours is the hash of a key, and an own echo on
    // another card would answer; a copied key is told apart by `run`.
    this.#bonjour.publish({ ...options.service, type: SERVICE_TYPE, probe: false, disableIPv6: true });
    this.look();
  }

  /** Rejects with the system's error: the port is held exclusively by another program, or the card is gone. */
  static async open(options: ChannelOptions): Promise<DiscoveryChannel> {
    const { family, card } = options;
    const socket =
      family === 'ipv4'
        ? createSocket({ type: 'udp4', reuseAddr: true })
        : createSocket({ type: 'udp6', reuseAddr: true, ipv6Only: true });
    try {
      socket.bind(PORT);
      await once(socket, 'listening');
      const through = interfaceOf(card, family);
      socket.addMembership(GROUPS[family], through);
      socket.setMulticastInterface(through);
      socket.setMulticastTTL(HOPS);
      socket.setMulticastLoopback(true);
    } catch (cause) {
      socket.close();
      throw cause;
    }
    return new DiscoveryChannel(options, socket);
  }

  get dropped(): number {
    return this.#socket.dropped;
  }

  get sendError(): Error | null {
    return this.#socket.sendError;
  }

  /**
   * Asks who is there. Each time with a new browser of the library: an old one keeps what it has heard for ever, and says
   * nothing when it hears it again.
   */
  look(): void {
    this.#browser?.stop();
    const browser = this.#bonjour.find({ type: SERVICE_TYPE });
    browser.on('up', (service) => {
      this.#answered(service);
      if (browser.services.length > MAX_SERVICES) browser.stop();
    });
    browser.on('txt-update', (service) => this.#answered(service));
    browser.on('down', ({ name }) => queueMicrotask(() => this.#options.onGoodbye(name)));
    this.#browser = browser;
  }

  /** Closes the socket, with a goodbye to those who listen or without. */
  async close({ goodbye }: { goodbye: boolean }): Promise<void> {
    this.#browser?.stop();
    if (goodbye) await new Promise<void>((resolve) => this.#bonjour.unpublishAll(() => resolve()));
    await new Promise<void>((resolve) => this.#bonjour.destroy(() => resolve()));
  }

  /** Outside the library's handler, whose errors are taken for those of a hostile packet. */
  #answered({ name, txt, referer }: Bonjour.Service): void {
    if (referer === undefined) return;
    queueMicrotask(() => this.#options.onAnswer({ name, text: txt, from: referer.address }));
  }
}

/** As dgram names a card: by its address, for IPv6 by its zone. */
function interfaceOf(card: NetworkCard, family: Family): string {
  if (family === 'ipv6') return `::%${card.zone}`;
  return card.addresses.find(({ host }) => !host.includes(':'))?.host ?? '';
}
