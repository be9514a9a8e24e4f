import { type ClientReadableStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { clientOptions } from './channelOptions.ts';
import { channelCredentials } from './credentials.ts';
import { type Epoch, type FollowRequest, RingClient, type StepFrame } from './generated/roomful/v1/ring.ts';
import { LinkWay } from './linkWay.ts';
import { wireErrorOf } from './refusal.ts';
import { RingLink } from './ringLink.ts';
import type { TlsMaterial } from './tlsMaterial.ts';
import { CallCancelled, DeadlineExceeded, PeerUnreachable, type WireError, WrongPeer } from './wireError.ts';

const CONNECT_TIMEOUT_MS = 5000;
const REDIAL_AFTER_MS = 200;
const PROBE_TIMEOUT_MS = 10_000;

export interface FollowOptions {
  /** `host:port` of the process to follow. */
  address: string;
  /** The member that it must belong to. */
  member: string;
  tls: TlsMaterial;
  pipeline: string;
  epoch: Epoch;
  /** Position of the follower. */
  position: number;
  /** Time until the link must be up, ms. */
  connectTimeoutMs?: number;
  /** Ends the link, or the attempt. */
  signal?: AbortSignal;
}

/**
 * Opens the stream of frames of the process before this one, and resolves when that process has accepted. An address
 * that does not answer is dialled once more; a link that was up is never dialled again, because frames that were under
 * way would be missing. Throws PeerUnreachable, WrongPeer, CallRefused, DeadlineExceeded or CallCancelled.
 */
export async function followRing(options: FollowOptions): Promise<RingLink> {
  const deadline = performance.now() + (options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
  try {
    return await dial(options, deadline);
  } catch (error) {
    if (!(error instanceof PeerUnreachable) || performance.now() + REDIAL_AFTER_MS >= deadline) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, REDIAL_AFTER_MS));
  return dial(options, deadline);
}

/** Asks over the same connection, so that the way is the same. */
function probing(client: RingClient, place: FollowRequest): (bytes: number) => Promise<void> {
  return (bytes) =>
    new Promise((resolve, reject) => {
      const deadline = Date.now() + PROBE_TIMEOUT_MS;
      client.probe({ place, bytes }, new Metadata(), { deadline }, (error) => (error ? reject(error) : resolve()));
    });
}

function dial(options: FollowOptions, deadline: number): Promise<RingLink> {
  const { address, member, pipeline, epoch, position, signal } = options;
  const what = `Following position ${position - 1} of pipeline ${pipeline}`;
  const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  let wrongPeer: string | null = null;
  const credentials = channelCredentials(options.tls, member, (found) => {
    wrongPeer = found;
  });
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new CallCancelled(`${what} was cancelled.`));
    const client = new RingClient(address, credentials, clientOptions);
    const call: ClientReadableStream<StepFrame> = client.follow({ pipeline, epoch, position });
    let link: RingLink | null = null;
    let goodbye = false;
    const leave = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      call.cancel();
      client.close();
    };
    const fail = (error: WireError): void => {
      if (link === null) {
        leave();
        reject(error);
      } else {
        link.end(error);
      }
    };
    const abort = (): void => (link === null ? fail(new CallCancelled(`${what} was cancelled.`)) : link.close());
    const timer = setTimeout(() => fail(new DeadlineExceeded(what, timeoutMs)), deadline - performance.now());
    signal?.addEventListener('abort', abort, { once: true });

    call.once('metadata', () => {
      clearTimeout(timer);
      link = new RingLink(call, new LinkWay(probing(client, { pipeline, epoch, position })), leave);
      resolve(link);
    });
    call.on('error', (error: ServiceError) => {
      const up = link !== null;
      if (!up && wrongPeer !== null) fail(new WrongPeer(address, member, wrongPeer, { cause: error }));
      else fail(wireErrorOf(error, { what, address, up, timeoutMs }));
    });
    call.on('status', ({ code }) => {
      goodbye = code === status.OK;
    });
    // The end of the data alone is no goodbye: a killed process ends its stream too.
    call.on('end', () => {
      if (goodbye) link?.end(null);
    });
  });
}
