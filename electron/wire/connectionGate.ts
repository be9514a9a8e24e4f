/**
 * Bounds the connections that nobody vouches for. A newcomer always gets in; beyond the limit the oldest connection of
 * the source that has the most gives way, so that a flood from one source costs that source alone.
 */
export class ConnectionGate<Connection> {
  readonly #limit: number;
  readonly #bySource = new Map<string, Set<Connection>>();
  #count = 0;

  /** `limit`: most connections at a time. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#count;
  }

  /** Counts a connection from `source`, its address say. Returns the one that must be cut for it, if any. */
  enter(source: string, connection: Connection): Connection | null {
    const own = this.#bySource.get(source) ?? new Set();
    this.#bySource.set(source, own.add(connection));
    this.#count += 1;
    return this.#count > this.#limit ? this.#evict() : null;
  }

  /** The connection is vouched for, or gone. Once is enough, more does no harm. */
  leave(source: string, connection: Connection): void {
    const own = this.#bySource.get(source);
    if (!own?.delete(connection)) return;
    this.#count -= 1;
    if (own.size === 0) this.#bySource.delete(source);
  }

  #evict(): Connection | null {
    let crowded: [source: string, connections: Set<Connection>] | null = null;
    for (const entry of this.#bySource) {
      if (crowded === null || entry[1].size > crowded[1].size) crowded = entry;
    }
    if (crowded === null) return null;
    for (const oldest of crowded[1]) {
      this.leave(crowded[0], oldest);
      return oldest;
    }
    return null;
  }
}
