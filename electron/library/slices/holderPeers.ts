import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import type { Peer } from '../../wire/peerCalls.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { CallRefused } from '../../wire/wireError.ts';

export interface HolderPeersOptions {
  tls(): TlsMaterial;
  /** The address by which this process reaches another; the identity where left out. */
  route?: ((address: string) => string | Promise<string>) | undefined;
  /** The other members that are there: besides the holders of a model some may have parts of it. Nobody where left out. */
  others?: () => readonly (ModelHolder & { name: string })[];
}

/** The ways to a holder: its addresses in turn, because the first may not be reachable from here. */
export class HolderPeers {
  readonly #options: HolderPeersOptions;
  readonly #best = new Map<string, number>();

  constructor(options: HolderPeersOptions) {
    this.#options = options;
  }

  async peer({ member, addresses }: ModelHolder): Promise<Peer> {
    const { tls, route = (address: string) => address } = this.#options;
    const address = addresses[(this.#best.get(member) ?? 0) % addresses.length] ?? '';
    return { member, address: await route(address), tls: tls() };
  }

  /** The other members that are there. */
  others(): readonly ModelHolder[] {
    return this.#options.others?.() ?? [];
  }

  /** What people call a member: its name, where it is there. */
  nameOf(member: string): string {
    return this.#options.others?.().find((other) => other.member === member)?.name ?? shortId(member);
  }

  /** The address that `peer` gave last did not do. */
  failed({ member }: ModelHolder): void {
    this.#best.set(member, (this.#best.get(member) ?? 0) + 1);
  }
}

/** Whether asking the same member again would be of no use. */
export function isFinal(cause: unknown): boolean {
  return cause instanceof CallRefused && ['NotHeld', 'NotAdmitted', 'BadRequest', 'Uncertified'].includes(cause.reason);
}

/** A member's id as messages have it; what is none, such as 'this member', stays. */
export function shortId(member: string): string {
  return /\s/.test(member) ? member : member.slice(0, 8);
}
