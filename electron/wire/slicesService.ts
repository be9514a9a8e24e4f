import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import {
  type DescribeModelReply,
  type HashTensorsRequest,
  HashWanted,
  type SlicesServer,
  SlicesService,
  type TensorHash,
} from './generated/roomful/v1/slices.ts';
import { refusalOf } from './refusal.ts';
import { MAX_SLICE_RANGES, type SlicePart } from './sliceRequests.ts';
import { unaryHandler } from './unaryHandler.ts';
import { CallRefused } from './wireError.ts';
import type { ServedService } from './wireServer.ts';

/** The models of a member, as it gives them to others. What these throw reaches the caller as CallRefused. */
export interface SliceSource {
  describe(model: string): Promise<DescribeModelReply>;
  /** Opens a model for the length of one request. */
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
  /** Bytes that may leave at once now. */
  readonly mostBytes: number;
  /** Resolves when so many bytes may be read and leave, to what is to be called once they have left. */
  begin(bytes: number, signal: AbortSignal): Promise<() => void>;
}

/** The Slices service of a member. */
export function slicesService(source: SliceSource): ServedService {
  const implementation: SlicesServer = {
    describe: unaryHandler(({ model }) => source.describe(model)),
    hash: (call) => {
      const gone = new AbortController();
      call.on('cancelled', () => gone.abort(new CallRefused('Failed', 'The receiver has left.')));
      sendHashes(call, source, gone.signal).then(
        () => call.end(),
        (error: unknown) => {
          if (!gone.signal.aborted) call.emit('error', refusalOf(error));
        },
      );
    },
  };
  return { definition: SlicesService, handlers: { ...implementation } };
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
  call.sendMetadata(new Metadata());
  for await (const hash of source.hash(model, tensors, wanted, signal)) {
    signal.throwIfAborted();
    call.write(hash);
  }
}

const KNOWN_WANTS = new Set<HashWanted>([
  HashWanted.HASH_WANTED_ANY,
  HashWanted.HASH_WANTED_RECORDED,
  HashWanted.HASH_WANTED_ON_DISK,
]);
