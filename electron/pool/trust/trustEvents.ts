/** Something about the pool has changed that others must act on. */
export type TrustEvent =
  /**
   * This machine has come into a pool, or is in none any more: `pool`, `self` and `tls` are new, and `gone` may not speak to
   * it any more.
   */
  | { kind: 'PoolChanged'; why: 'Created' | 'Joined' | 'Imported' | 'Left' | 'Removed' | 'Rekeyed'; gone: string[] }
  /** `tls` is new, and shows the same member. */
  | { kind: 'CertificateRenewed' }
  /** Invites of this member have come or ended. */
  | { kind: 'InvitesChanged' }
  /** Lines of the roster are new; `come` may speak to this member, and `gone` may not any more. */
  | { kind: 'RosterChanged'; come: string[]; gone: string[] }
  /** A machine has joined by an invite of this member, and says where it can be reached. */
  | { kind: 'MemberJoined'; member: string; addresses: string[] };

/** Tells its listeners, in the order in which they came. */
export class TrustEvents {
  readonly #listeners = new Set<(event: TrustEvent) => void>();

  /** Until the function that it returns is called. */
  on(listener: (event: TrustEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: TrustEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}
