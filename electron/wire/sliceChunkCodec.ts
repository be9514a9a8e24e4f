import { type SliceChunk, SlicesService } from './generated/roomful/v1/slices.ts';

/** `bytes bytes = 1`: field number and wire type in one byte. */
const BYTES_TAG = (1 << 3) | 2;

/** Room that must lie before the bytes of a chunk, in the same buffer, for what a message begins with. */
export const SLICE_CHUNK_PREFIX = 6;

/**
 * Encodes a chunk without a copy, where the generated encoder makes three: writes tag and length into the room before the
 * bytes, which whoever sends slices leaves there. grpc-js copies the message at once, so the buffer can be used again.
 */
export function encodeSliceChunk({ bytes }: SliceChunk): Buffer {
  const start: number[] = [BYTES_TAG];
  let left = bytes.length;
  for (; left > 0x7f; left >>>= 7) start.push((left & 0x7f) | 0x80);
  start.push(left);
  if (bytes.byteOffset < start.length) throw new RangeError('a chunk needs room before its bytes');
  const message = Buffer.from(bytes.buffer, bytes.byteOffset - start.length, start.length + bytes.length);
  message.set(start);
  return message;
}

/** The Slices service as a holder serves it. */
export const slicesServiceDefinition = {
  ...SlicesService,
  read: { ...SlicesService.read, responseSerialize: encodeSliceChunk },
} as const;
