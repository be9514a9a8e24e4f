import { RingService, StepFrame } from './generated/roomful/v1/ring.ts';

const NO_BYTES = new Uint8Array(0);
/** `bytes activations = 6`: field number and wire type in one byte. */
const ACTIVATIONS_TAG = (6 << 3) | 2;

/**
 * Encodes a frame as ring.proto says, with one copy of the activations where the generated encoder makes four: it grows
 * its buffer, trims it and wraps it. The activations come last, which protobuf allows. Decoding needs no such care:
 * there the activations are a view of the message.
 */
export function encodeStepFrame(frame: StepFrame): Buffer {
  const rest = StepFrame.encode({ ...frame, activations: NO_BYTES }).finish();
  const { activations } = frame;
  if (activations.length === 0) return Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength);
  const message = Buffer.allocUnsafe(rest.length + 1 + varintLength(activations.length) + activations.length);
  message.set(rest);
  let at = rest.length;
  message[at++] = ACTIVATIONS_TAG;
  let left = activations.length;
  for (; left > 0x7f; left >>>= 7) message[at++] = (left & 0x7f) | 0x80;
  message[at++] = left;
  message.set(activations, at);
  return message;
}

function varintLength(value: number): number {
  let length = 1;
  for (let left = value; left > 0x7f; left >>>= 7) length += 1;
  return length;
}

/** The Ring service as this process serves it. */
export const ringServiceDefinition = {
  ...RingService,
  follow: { ...RingService.follow, responseSerialize: encodeStepFrame },
} as const;
