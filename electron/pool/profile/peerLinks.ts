import type { PeerProbe } from '../../wire/probePeer.ts';
import type { Clock } from '../clock.ts';

/** A way to a member that was measured keeps its numbers for this long, ms. */
const REFRESH_MS = 5 * 60_000;
/** A probe that failed is tried again after this, then after twice as long, and so on, ms. */
const RETRY_MS = 5000;

/** How far away a member is, and when that was measured (ms since 1970). */
export interface MeasuredLink extends PeerProbe {
  measuredAt: number;
}

export interface PeerLinksOptions {
  /** Measures the way to a member, see probePeer. */
  probe: (member: string, signal: AbortSignal) => Promise<PeerProbe>;
  clock: Clock;
  /** Called after every measurement, and when one has gone with its member. */
  onChange: () => void;
  /** Hears of every probe that failed; membership knows better whether a member is lost. */
  onProblem: (member: string, error: unknown) => void;
}

interface Peer {
  dueAt: number;
  failures: number;
  link: MeasuredLink | null;
}

/**
 * Measures the way to every member of the pool when it joins and again from time to time, one after the other, so that no
 * measurement is in another's way. What was measured stays until there is something newer.
 */
export class PeerLinks {
  readonly #options: PeerLinksOptions;
  readonly #peers = new Map<string, Peer>();
  readonly #closed = new AbortController();
  #cancelTimer: () => void = () => {};
  #probing: { member: string; abort: AbortController } | null = null;

  constructor(options: PeerLinksOptions) {
    this.#options = options;
  }

  /** The members that there are now, this one left out. New ones are measured at once. */
  set(members: Iterable<string>): void {
    const now = this.#options.clock.now();
    const present = new Set(members);
    let forgotten = false;
    for (const [member, { link }] of this.#peers) {
      if (present.has(member)) continue;
      this.#peers.delete(member);
      if (this.#probing?.member === member) this.#probing.abort.abort();
      forgotten ||= link !== null;
    }
    for (const member of present) {
      if (!this.#peers.has(member)) this.#peers.set(member, { dueAt: now, failures: 0, link: null });
    }
    if (forgotten) this.#options.onChange();
    this.#schedule();
  }

  /** Measures the way to a member again as soon as may be, as when it is reached by another address. */
  refresh(member: string): void {
    const peer = this.#peers.get(member);
    if (peer === undefined) return;
    peer.dueAt = this.#options.clock.now();
    if (this.#probing?.member === member) this.#probing.abort.abort();
    this.#schedule();
  }

  /** What is known, by member. */
  links(): ReadonlyMap<string, MeasuredLink> {
    const known = new Map<string, MeasuredLink>();
    for (const [member, { link }] of this.#peers) if (link !== null) known.set(member, link);
    return known;
  }

  close(): void {
    this.#closed.abort();
    this.#cancelTimer();
    this.#probing?.abort.abort();
  }

  #schedule(): void {
    this.#cancelTimer();
    if (this.#closed.signal.aborted || this.#probing !== null) return;
    const [next] = [...this.#peers].sort(([, a], [, b]) => a.dueAt - b.dueAt);
    if (next === undefined) return;
    const [member, peer] = next;
    const wait = Math.max(0, peer.dueAt - this.#options.clock.now());
    this.#cancelTimer = this.#options.clock.after(wait, () => void this.#measure(member, peer));
  }

  async #measure(member: string, peer: Peer): Promise<void> {
    const { probe, clock, onChange, onProblem } = this.#options;
    const abort = new AbortController();
    this.#probing = { member, abort };
    try {
      const measured = await probe(member, abort.signal);
      if (!abort.signal.aborted) {
        peer.link = { ...measured, measuredAt: clock.wall() };
        peer.failures = 0;
        peer.dueAt = clock.now() + REFRESH_MS;
        onChange();
      }
    } catch (error) {
      if (!abort.signal.aborted) {
        peer.dueAt = clock.now() + Math.min(REFRESH_MS, RETRY_MS * 2 ** peer.failures);
        peer.failures += 1;
        onProblem(member, error);
      }
    }
    this.#probing = null;
    this.#schedule();
  }
}
