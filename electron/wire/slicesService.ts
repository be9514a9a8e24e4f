import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import {
  type DescribeModelReply,
  type HashTensorsRequest,
  HashWanted,
  type ReadSlicesRequest,
  type SliceChunk,
  type SlicesServer,
  type TensorHash,
} from './generated/roomful/v1/slices.ts';
import { peerOf } from './peerOf.ts';
import { refusalOf } from './refusal.ts';
import { SLICE_CHUNK_PREFIX, slicesServiceDefinition } from './sliceChunkCodec.ts';
import { MAX_SLICE_RANGES, parseReadSlices, type SlicePart } from './sliceRequests.ts';
import { unaryHandler } from './unaryHandler.ts';
import { CallRefused } from './wireError.ts';
import type { ServedService } from './wireServer.ts';

/** The models of a member, as it gives them to others. What these throw reaches the caller as CallRefused. */
export interface SliceSource {
  describe(model: string): Promise<DescribeModelReply>;
  /** Opens a model for the length of one call. */
  open(model: string): Promise<SliceReader>;
  hash(model: string, tensors: readonly string[], wanted: HashWanted, signal: AbortSignal): AsyncIterable<TensorHash>;
}

export interface SliceReader {
  /** Throws where the model has no such part. */
  check(part: SlicePart): void;
  /** Fills `target` from `offset` of the tensor or header that `part` is of. */
  read(part: SlicePart, offset: number, target: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** Decides when bytes may leave. */
export interface SendGate {
  /** Resolves when so many bytes may be read and leave, to what is to be called once they have left. */
  begin(bytes: number, signal: AbortSignal): Promise<() => void>;
}

export interface SlicesOptions {
  source: SliceSource;
  gate: SendGate;
}

/** Large enough that what a message costs does not show, small enough to give way to activations. */
const CHUNK_BYTES = Number(process.env['CH'] ?? 256) * 1024;
/** Chunks of a call that are read or under way at a time. */
const CHUNKS_AT_ONCE = Number(process.env['LANES'] ?? 3);
/** Streams that one member may have open at a time. */
const STREAMS_PER_PEER = 16;

/** The Slices service of a member. */
export function slicesService({ source, gate }: SlicesOptions): ServedService {
  const streams = new Map<string, number>();
  /** Runs what answers a stream, bounded in number for each peer, and ends the call as it ends. */
  const serve = <Request, Reply>(
    call: ServerWritableStream<Request, Reply>,
    answer: (signal: AbortSignal) => Promise<void>,
  ): void => {
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort(new CallRefused('Failed', 'The receiver has left.')));
    const peer = peerOf(call);
    const answering = async (): Promise<void> => {
      if (peer === null) throw new CallRefused('Uncertified', 'A certificate of this pool is needed.');
      const open = streams.get(peer) ?? 0;
      if (open >= STREAMS_PER_PEER) throw new CallRefused('PlaceTaken', 'This member reads enough already.');
      streams.set(peer, open + 1);
      try {
        call.sendMetadata(new Metadata());
        await answer(gone.signal);
      } finally {
        streams.set(peer, (streams.get(peer) ?? 1) - 1);
        if (streams.get(peer) === 0) streams.delete(peer);
      }
    };
    answering().then(
      () => call.end(),
      (error: unknown) => {
        if (!gone.signal.aborted) call.emit('error', refusalOf(error));
      },
    );
  };
  const implementation: SlicesServer = {
    describe: unaryHandler(({ model }) => source.describe(model)),
    read: (call) => serve(call, (signal) => sendRanges(call, source, gate, signal)),
    hash: (call) => serve(call, (signal) => sendHashes(call, source, signal)),
  };
  return { definition: slicesServiceDefinition, handlers: { ...implementation } };
}

async function sendRanges(
  call: ServerWritableStream<ReadSlicesRequest, SliceChunk>,
  source: SliceSource,
  gate: SendGate,
  signal: AbortSignal,
): Promise<void> {
  const { model, ranges } = parseReadSlices(call.request);
  const reader = await source.open(model);
  try {
    for (const part of ranges) reader.check(part);
    // Buffers are used again: a fresh one for every chunk would keep the collector busy and the memory high.
    const lanes = Array.from({ length: CHUNKS_AT_ONCE }, () => ({
      buffer: Buffer.allocUnsafeSlow(SLICE_CHUNK_PREFIX + CHUNK_BYTES),
      sent: Promise.resolve(),
    }));
    let turn = 0;
    for (const part of ranges) {
      for (let done = 0; done < part.bytes; ) {
        const lane = lanes[turn++ % lanes.length];
        if (lane === undefined) return;
        await lane.sent;
        const size = Math.min(CHUNK_BYTES, part.bytes - done);
        const bytes = lane.buffer.subarray(SLICE_CHUNK_PREFIX, SLICE_CHUNK_PREFIX + size);
        const end = await gate.begin(bytes.byteLength, signal);
        try {
          await reader.read(part, part.offset + done, bytes);
        } catch (cause) {
          end();
          throw cause;
        }
        done += bytes.byteLength;
        lane.sent = write(call, { bytes }, signal).finally(end);
        // Awaited before its buffer is used again; until then a failure must not count as unhandled.
        lane.sent.catch(() => {});
      }
    }
    for (const { sent } of lanes) await sent;
  } finally {
    await reader.close();
  }
}

async function sendHashes(
  call: ServerWritableStream<HashTensorsRequest, TensorHash>,
  source: SliceSource,
  signal: AbortSignal,
): Promise<void> {
  const { model, tensors, wanted } = call.request;
  if (tensors.length > MAX_SLICE_RANGES || !KNOWN_WANTS.has(wanted)) {
    throw new CallRefused('BadRequest', `Bad request for hashes: ${tensors.length} tensors.`);
  }
  for await (const hash of source.hash(model, tensors, wanted, signal)) await write(call, hash, signal);
}

const KNOWN_WANTS = new Set<HashWanted>([
  HashWanted.HASH_WANTED_ANY,
  HashWanted.HASH_WANTED_RECORDED,
  HashWanted.HASH_WANTED_ON_DISK,
]);

/** Resolves when the message has left; rejects when the receiver has, of which grpc-js does not tell whoever writes. */
function write<Reply>(call: ServerWritableStream<unknown, Reply>, message: Reply, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    call.write(message, (error: Error | null | undefined) => {
      signal.removeEventListener('abort', leave);
      if (error) reject(error);
      else resolve();
    });
  });
}
