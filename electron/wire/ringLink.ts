import type { ClientReadableStream } from '@grpc/grpc-js';
import type { StepFrame } from './generated/roomful/v1/ring.ts';
import type { LinkWay } from './linkWay.ts';
import type { WireError } from './wireError.ts';

/** Frames held here before the stream is paused; gRPC holds up to 16 more, and the flow-control window. */
const HIGH_WATER_FRAMES = 8;
const LOW_WATER_FRAMES = 2;

/**
 * The receiving end of one link. Iterating yields its frames in order, ends after the sender's goodbye or `close`, and
 * throws LinkLost when the stream breaks otherwise. A frame's activations are a view of its message.
 */
export class RingLink implements AsyncIterableIterator<StepFrame> {
  /** How long a frame takes to come. */
  readonly way: LinkWay;
  readonly #call: ClientReadableStream<StepFrame>;
  readonly #onEnd: () => void;
  readonly #frames: StepFrame[] = [];
  #paused = false;
  #end: { error: WireError | null } | null = null;
  readonly #waiting: { resolve: (result: IteratorResult<StepFrame>) => void; reject: (error: WireError) => void }[] =
    [];

  /** For followRing: `call` has been accepted, and its end is told to `end`. */
  constructor(call: ClientReadableStream<StepFrame>, way: LinkWay, onEnd: () => void) {
    this.way = way;
    this.#call = call;
    this.#onEnd = onEnd;
    call.on('data', (frame: StepFrame) => this.#take(frame));
  }

  next(): Promise<IteratorResult<StepFrame>> {
    const frame = this.#frames.shift();
    if (frame !== undefined) {
      if (this.#paused && this.#frames.length <= LOW_WATER_FRAMES) {
        this.#paused = false;
        this.#call.resume();
      }
      return Promise.resolve({ done: false, value: frame });
    }
    if (this.#end !== null) return this.#end.error === null ? Promise.resolve(DONE) : Promise.reject(this.#end.error);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** Leaves the link; what has not been read is dropped. */
  close(): void {
    this.#frames.length = 0;
    this.end(null);
  }

  return(): Promise<IteratorResult<StepFrame>> {
    this.close();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Told by followRing when the stream has ended: null after a goodbye. */
  end(error: WireError | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#onEnd();
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (error === null) resolve(DONE);
      else reject(error);
    }
  }

  #take(frame: StepFrame): void {
    if (this.#end !== null) return;
    this.way.carried(frame.activations.length);
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value: frame });
      return;
    }
    this.#frames.push(frame);
    if (this.#frames.length < HIGH_WATER_FRAMES || this.#paused) return;
    this.#paused = true;
    this.#call.pause();
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
