import { Metadata } from '@grpc/grpc-js';
import { clientOptions } from './channelOptions.ts';
import { type ProbeReply, type ProbeRequest, ProfilesClient } from './generated/roomful/v1/profile.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';
import { MAX_PROBE_REQUEST_BYTES } from './profileServer.ts';
import { LinkLost } from './wireError.ts';

const TIMEOUT_MS = 15_000;
const PINGS = 11;
const FIRST_BYTES = 128 * 2 ** 10;
/** A transfer that takes this long is long enough to be believed, ms. */
const LONG_MS = 100;
const AIM_MS = 200;
const MOST_GROWTH = 16;
const MOST_TRANSFERS = 3;

/** How far away a member is. */
export interface PeerProbe {
  /** Of an empty message there and back on an open stream, the median, ms. */
  rttMs: number;
  /** From the member to this one, which is the way that activations take to a stage that follows it. */
  bytesPerSecond: number;
}

/**
 * Measures round trip and throughput to a member on a connection of its own, with at most 10 MiB of traffic and in about
 * half a second on a quick network. Rejects with a WireError; `signal` gives up.
 */
export async function probePeer(peer: Peer, signal?: AbortSignal): Promise<PeerProbe> {
  const calls = new PeerCalls(peer);
  const client = new ProfilesClient(peer.address, calls.credentials, clientOptions);
  const call = client.probe(new Metadata(), { deadline: Date.now() + TIMEOUT_MS });
  const cancel = (): void => call.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  const replies = (call as AsyncIterable<ProbeReply>)[Symbol.asyncIterator]();
  /** Milliseconds until `bytes` had come. */
  const ask = async (bytes: number): Promise<number> => {
    const started = performance.now();
    const request: ProbeRequest = { bytes };
    call.write(request);
    for (let last = false; !last; ) {
      const next = await replies.next();
      if (next.done) throw new LinkLost(`${peer.address} ended a probe before its answer was complete.`);
      last = next.value.last;
    }
    return performance.now() - started;
  };
  let up = false;
  try {
    // The first opens the connection.
    await ask(0);
    up = true;
    const pings: number[] = [];
    for (let ping = 0; ping < PINGS; ping += 1) pings.push(await ask(0));
    const rttMs = pings.sort((a, b) => a - b)[(PINGS - 1) / 2] ?? 0;
    return { rttMs, bytesPerSecond: await throughput(ask, rttMs) };
  } catch (error) {
    throw calls.errorOf(error, { what: `Measuring the way to ${peer.address}`, up, timeoutMs: TIMEOUT_MS });
  } finally {
    signal?.removeEventListener('abort', cancel);
    call.cancel();
    client.close();
  }
}

/** Asks for more and more bytes until they take long enough; the first ones also open the windows of the connection. */
async function throughput(ask: (bytes: number) => Promise<number>, rttMs: number): Promise<number> {
  let bytes = FIRST_BYTES;
  for (let transfer = 1; ; transfer += 1) {
    const elapsedMs = await ask(bytes);
    // Half of the round trip is the request's, half that of the first byte.
    const transferMs = Math.max(elapsedMs - rttMs, elapsedMs / 10);
    const isLast = transferMs >= LONG_MS || bytes >= MAX_PROBE_REQUEST_BYTES || transfer >= MOST_TRANSFERS;
    if (isLast) return (bytes / transferMs) * 1000;
    const growth = Math.min(MOST_GROWTH, Math.max(2, AIM_MS / transferMs));
    bytes = Math.min(MAX_PROBE_REQUEST_BYTES, Math.round(bytes * growth));
  }
}
