import type { SliceChunk } from './generated/roomful/v1/slices.ts';
import { SlicesService } from './generated/roomful/v1/slices.ts';

/** `bytes bytes = 1`: field number and wire type in one byte. */
const BYTES_TAG = (1 << 3) | 2;
const LONGEST_START = 6;

/** Encodes a chunk with one copy of its bytes, where the generated encoder makes three. */
export function encodeSliceChunk({ bytes }: SliceChunk): Buffer {
  const message = Buffer.allocUnsafe(LONGEST_START + bytes.length);
  let at = 0;
  message[at++] = BYTES_TAG;
  let left = bytes.length;
  for (; left > 0x7f; left >>>= 7) message[at++] = (left & 0x7f) | 0x80;
  message[at++] = left;
  message.set(bytes, at);
  return message.subarray(0, at + bytes.length);
}

/** The Slices service as a holder serves it. */
export const slicesServiceDefinition = {
  ...SlicesService,
  read: { ...SlicesService.read, responseSerialize: encodeSliceChunk },
} as const;
