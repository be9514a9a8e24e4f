import type { Heartbeat } from './generated/roomful/v1/heartbeat.ts';

/** Beats that may wait for a peer that does not read; each tells all, so more of them would tell no more. */
const WAITING_LIMIT = 8;

/** The stream under a link, at either end. */
export interface HeartbeatStream {
  write(beat: Heartbeat, done: () => void): unknown;
  on(event: 'data', listener: (beat: Heartbeat) => void): unknown;
  on(event: 'end' | 'error' | 'cancelled', listener: () => void): unknown;
}

export interface HeartbeatLinkListeners {
  onBeat(beat: Heartbeat): void;
  /** Called once when the link has ended, other than by `close`. */
  onEnd(): void;
}

/** One connection between two members over which both tell that they live. */
export class HeartbeatLink {
  /** The member at the other end, by its certificate. */
  readonly peer: string;
  /** Its literal address. */
  readonly host: string;
  /** The port at which it was dialled; null when it dialled. */
  readonly port: number | null;
  readonly #stream: HeartbeatStream;
  readonly #cut: () => void;
  #waiting = 0;
  #ended = false;
  #onFlushed: () => void = () => {};

  /** `cut` gives the stream and what is below it back. */
  constructor(peer: string, at: { host: string; port: number | null }, stream: HeartbeatStream, cut: () => void) {
    this.peer = peer;
    this.host = at.host;
    this.port = at.port;
    this.#stream = stream;
    this.#cut = cut;
  }

  /** Starts to read. */
  listen({ onBeat, onEnd }: HeartbeatLinkListeners): void {
    const end = (): void => {
      if (this.#ended) return;
      this.close();
      onEnd();
    };
    this.#stream.on('data', (beat) => {
      if (!this.#ended) onBeat(beat);
    });
    this.#stream.on('end', end);
    this.#stream.on('error', end);
    this.#stream.on('cancelled', end);
  }

  /** Sends a beat, or nothing while the peer does not keep up. */
  send(beat: Heartbeat): void {
    if (this.#ended || this.#waiting >= WAITING_LIMIT) return;
    this.#waiting += 1;
    this.#stream.write(beat, () => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#onFlushed();
    });
  }

  /** Resolves when all that was sent has gone out. */
  flushed(): Promise<void> {
    if (this.#waiting === 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onFlushed = resolve;
    });
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onFlushed();
    this.#cut();
  }
}
