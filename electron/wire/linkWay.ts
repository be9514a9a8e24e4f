/** Between two measures, ms. */
const INTERVAL_MS = 2000;
/** Measures of which the shortest counts: what is longer waited for a processor, and not for the network. */
const LATEST = 5;
/** Larger frames are chunks of prompts, and say nothing of a token. */
const MOST_BYTES = 64 * 1024;

/**
 * How long a frame takes over a link, seen from its receiving end while frames come. The clocks of two machines differ, so
 * it is the time of a question: half of an empty one's round trip, and what an answer of a frame's size takes longer.
 */
export class LinkWay {
  readonly #ask: (bytes: number) => Promise<void>;
  readonly #now: () => number;
  #bytes = 0;
  #askedAt: number | null = null;
  #asking = false;
  #latest: readonly number[] = [];

  /** `ask` resolves when so many bytes have come over the link. */
  constructor(ask: (bytes: number) => Promise<void>, now: () => number = () => performance.now()) {
    this.#ask = ask;
    this.#now = now;
  }

  /** Of a frame as large as the last ones; null before the first measure. */
  get ms(): number | null {
    return this.#latest.length === 0 ? null : Math.min(...this.#latest);
  }

  /** A frame has come with so many bytes of activations. */
  carried(bytes: number): void {
    if (bytes <= MOST_BYTES) this.#bytes = bytes;
    if (this.#asking || (this.#askedAt !== null && this.#now() - this.#askedAt < INTERVAL_MS)) return;
    this.#asking = true;
    // A link that broke is told of by the stream that it is there for.
    void this.#measure(this.#askedAt === null)
      .catch(() => {})
      .finally(() => {
        this.#askedAt = this.#now();
        this.#asking = false;
      });
  }

  async #measure(isFirst: boolean): Promise<void> {
    // The first question of a connection pays for more than its way.
    if (isFirst) await this.#ask(0);
    const bytes = this.#bytes;
    const emptyMs = await this.#time(0);
    const fullMs = bytes === 0 ? emptyMs : await this.#time(bytes);
    this.#latest = [...this.#latest, Math.max(emptyMs, fullMs) - emptyMs / 2].slice(-LATEST);
  }

  async #time(bytes: number): Promise<number> {
    const began = this.#now();
    await this.#ask(bytes);
    return this.#now() - began;
  }
}
