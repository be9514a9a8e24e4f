import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { compareEpochs } from './epoch.ts';
import type { Epoch, FollowRequest, RingServer as RingHandlers, StepFrame } from './generated/roomful/v1/ring.ts';
import { peerOf } from './peerOf.ts';
import { refusalOf } from './refusal.ts';
import { RingOutlet } from './ringOutlet.ts';
import { ringServiceDefinition } from './stepFrameCodec.ts';
import { unaryHandler } from './unaryHandler.ts';
import { CallRefused, type LinkLost } from './wireError.ts';
import type { ServedService } from './wireServer.ts';

/** Most bytes that a probe of a link is answered with. */
export const MOST_PROBE_BYTES = 64 * 1024;

/** The place of one follower. */
export interface RingPlace {
  pipeline: string;
  epoch: Epoch;
  /** Position of the follower: 0 for the first stage, the number of stages for the coordinator. */
  position: number;
  /** The member whose process may follow. */
  follower: string;
}

/** The sending ends of links: who may follow this process, and with what it is told no. */
export class RingServer {
  readonly service: ServedService;
  readonly #outlets = new Map<string, RingOutlet>();

  constructor() {
    const handlers: RingHandlers = {
      follow: (call) => this.#follow(call),
      probe: unaryHandler(async ({ place, bytes }, peer) => {
        if (place === undefined) throw new CallRefused('BadRequest', 'The request names no place.');
        this.#outletFor(place, peer);
        return { filler: Buffer.alloc(Math.min(bytes, MOST_PROBE_BYTES)) };
      }),
    };
    this.service = { definition: ringServiceDefinition, handlers: { ...handlers } };
  }

  /**
   * Opens a place for one follower. The place of an older epoch gives way; an order of an older epoch than the place has
   * throws CallRefused('StaleEpoch'). `onLost` is called once when a follower that had come is gone without a goodbye.
   */
  open(place: RingPlace, onLost: (error: LinkLost) => void = () => {}): RingOutlet {
    const key = placeKey(place);
    const current = this.#outlets.get(key);
    if (current !== undefined) {
      if (compareEpochs(place.epoch, current.place.epoch) <= 0) {
        throw new CallRefused(
          'StaleEpoch',
          `Pipeline ${place.pipeline} is at epoch ${current.place.epoch.counter} already.`,
        );
      }
      current.abort();
    }
    const outlet = new RingOutlet(place, onLost, () => {
      if (this.#outlets.get(key) === outlet) this.#outlets.delete(key);
    });
    this.#outlets.set(key, outlet);
    return outlet;
  }

  #follow(call: ServerWritableStream<FollowRequest, StepFrame>): void {
    try {
      const outlet = this.#outletFor(call.request, peerOf(call));
      if (!outlet.accept(call)) throw new CallRefused('PlaceTaken', 'This place has been followed already.');
      call.sendMetadata(new Metadata());
    } catch (error) {
      call.emit('error', refusalOf(error));
    }
  }

  #outletFor({ pipeline, epoch, position }: FollowRequest, peer: string | null): RingOutlet {
    if (peer === null) throw new CallRefused('Uncertified', 'A certificate of this pool is needed.');
    if (epoch === undefined) throw new CallRefused('BadRequest', 'The request names no epoch.');
    const outlet = this.#outlets.get(placeKey({ pipeline, position }));
    if (outlet === undefined) {
      const known = [...this.#outlets.values()].some(({ place }) => place.pipeline === pipeline);
      if (known) throw new CallRefused('WrongPosition', `Position ${position} does not follow this process.`);
      throw new CallRefused('WrongPipeline', `Pipeline ${pipeline} does not run here.`);
    }
    const { place } = outlet;
    const order = compareEpochs(epoch, place.epoch);
    const served = `epoch ${place.epoch.counter} of ${place.epoch.coordinator} is served`;
    if (order < 0) throw new CallRefused('StaleEpoch', `Epoch ${epoch.counter} is over; ${served}.`);
    if (order > 0) throw new CallRefused('UnknownEpoch', `Epoch ${epoch.counter} is not known; ${served}.`);
    if (peer !== place.follower) throw new CallRefused('WrongMember', `Member ${peer} has no place here.`);
    return outlet;
  }
}

function placeKey({ pipeline, position }: Pick<RingPlace, 'pipeline' | 'position'>): string {
  return `${position} ${pipeline}`;
}
