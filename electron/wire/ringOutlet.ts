import { type ServerWritableStream, status } from '@grpc/grpc-js';
import type { FollowRequest, StepFrame } from './generated/roomful/v1/ring.ts';
import type { RingPlace } from './ringServer.ts';
import { CallCancelled, LinkLost, type WireError } from './wireError.ts';

/** Bytes that may wait for the follower before `send` makes its caller wait. */
const OUTBOX_BYTES = 32 * 1024 * 1024;
/** A caller that does not wait loses the link at this many. */
const OUTBOX_LIMIT_BYTES = 4 * OUTBOX_BYTES;
/** How long a goodbye may take, ms. */
const GOODBYE_MS = 1000;

/** The sending end of one link. Frames leave in the order of the calls. */
export class RingOutlet {
  readonly place: RingPlace;
  readonly #onLost: (error: LinkLost) => void;
  readonly #onEnd: () => void;
  #call: ServerWritableStream<FollowRequest, StepFrame> | null = null;
  /** Frames that were sent before the follower came. */
  #early: StepFrame[] = [];
  #outboxBytes = 0;
  #waiting: { resolve: () => void; reject: (error: WireError) => void }[] = [];
  #ended: WireError | null = null;
  #closing = false;
  #onCallEnd: () => void = () => {};

  constructor(place: RingPlace, onLost: (error: LinkLost) => void, onEnd: () => void) {
    this.place = place;
    this.#onLost = onLost;
    this.#onEnd = onEnd;
  }

  /** Takes the stream of the follower; false when there has been one. */
  accept(call: ServerWritableStream<FollowRequest, StepFrame>): boolean {
    if (this.#call !== null || this.#ended !== null || this.#closing) return false;
    this.#call = call;
    call.on('cancelled', () => this.#callEnded());
    const early = this.#early;
    this.#early = [];
    for (const frame of early) this.#write(call, frame);
    return true;
  }

  /**
   * Sends a frame, or keeps it until the follower comes. Resolves at once while the outbox has room, else when it has
   * room again; whoever waits for it before the next frame keeps memory bounded however slowly the follower reads.
   * Rejects with LinkLost or CallCancelled once the link has ended.
   */
  send(frame: StepFrame): Promise<void> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    if (this.#closing) return Promise.reject(new CallCancelled('The link is closing.'));
    this.#outboxBytes += weightOf(frame);
    if (this.#call === null) this.#early.push(frame);
    else this.#write(this.#call, frame);
    if (this.#outboxBytes <= OUTBOX_BYTES) return Promise.resolve();
    if (this.#outboxBytes > OUTBOX_LIMIT_BYTES) this.#lose('the follower does not keep up');
    return new Promise((resolve, reject) => {
      if (this.#ended === null) this.#waiting.push({ resolve, reject });
      else reject(this.#ended);
    });
  }

  /** Says goodbye after the last frame; the follower sees the end of the pipeline, not a loss. */
  async close(): Promise<void> {
    if (this.#ended !== null || this.#closing) return;
    this.#closing = true;
    const call = this.#call;
    if (call !== null) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, GOODBYE_MS);
        this.#onCallEnd = () => {
          clearTimeout(timer);
          resolve();
        };
        call.end();
      });
    }
    this.#end(new CallCancelled('The link was closed.'));
  }

  /** Cuts the link; the follower sees a loss. */
  abort(): void {
    this.#end(new CallCancelled('The link was cut.'));
  }

  #write(call: ServerWritableStream<FollowRequest, StepFrame>, frame: StepFrame): void {
    const weight = weightOf(frame);
    call.write(frame, (error: Error | null | undefined) => {
      if (error) return;
      this.#outboxBytes -= weight;
      if (this.#outboxBytes > OUTBOX_BYTES || this.#waiting.length === 0) return;
      for (const { resolve } of this.#waiting.splice(0)) resolve();
    });
  }

  #callEnded(): void {
    if (this.#closing) this.#onCallEnd();
    else this.#lose('its follower is gone');
  }

  #lose(why: string): void {
    if (this.#ended !== null) return;
    const error = new LinkLost(`The link to member ${this.place.follower} broke: ${why}.`);
    this.#end(error);
    this.#onLost(error);
  }

  #end(error: WireError): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#early = [];
    this.#outboxBytes = 0;
    if (this.#call !== null) cut(this.#call, error.message);
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#onEnd();
  }
}

/** Ends a stream with an error; one whose follower does not even read that frees its frames all the same. */
function cut(call: ServerWritableStream<FollowRequest, StepFrame>, why: string): void {
  if (call.destroyed || call.writableFinished) return;
  if (call.cancelled) {
    call.destroy();
    return;
  }
  const timer = setTimeout(() => call.destroy(), GOODBYE_MS);
  call.once('cancelled', () => clearTimeout(timer));
  call.emit('error', Object.assign(new Error(why), { code: status.ABORTED, details: why }));
}

/** About the memory that a frame takes, bytes. */
function weightOf(frame: StepFrame): number {
  return frame.runs.reduce((sum, run) => sum + 8 * run.tokens.length, 512 + frame.activations.length);
}
