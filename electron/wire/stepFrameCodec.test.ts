import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StepFrame } from './generated/roomful/v1/ring.ts';
import { encodeStepFrame, ringServiceDefinition } from './stepFrameCodec.ts';

const uint32 = fc.integer({ min: 0, max: 0xffffffff });
const int32 = fc.integer({ min: -0x80000000, max: 0x7fffffff });
// proto3 leaves a zero out, so its sign is lost.
const float32 = fc.float({ noNaN: true }).map((value) => value + 0);
const frames = fc.record({
  pipeline: fc.string(),
  epoch: fc.option(fc.record({ counter: fc.maxSafeNat(), coordinator: fc.string() }), { nil: undefined }),
  step: fc.maxSafeNat(),
  runs: fc.array(
    fc.record({
      slot: uint32,
      generation: uint32,
      start: uint32,
      tokens: fc.array(int32),
      truncateTo: fc.option(uint32, { nil: undefined }),
      sampling: fc.option(
        fc.record({
          temperature: fc.constant(0.5),
          topK: uint32,
          topP: fc.constant(0.25),
          minP: fc.constant(0.125),
          repetitionPenalty: float32,
          frequencyPenalty: float32,
          presencePenalty: float32,
          biasTokens: fc.array(int32),
          biases: fc.array(float32),
          grammar: fc.option(fc.string(), { nil: undefined }),
          promptLength: uint32,
          topLogprobs: fc.option(uint32, { nil: undefined }),
          seed: fc.maxSafeNat(),
          choice: uint32,
        }),
        { nil: undefined },
      ),
      sample: fc.boolean(),
      drafts: uint32,
      embed: fc.constantFrom(0, 1, 2, 3),
      copyFrom: fc.option(fc.record({ slot: uint32, generation: uint32 }), { nil: undefined }),
    }),
    { maxLength: 4 },
  ),
  format: fc.constantFrom(0, 1, 2),
  activations: fc.uint8Array({ maxLength: 40_000 }),
  exact: fc.boolean(),
  closedSlots: fc.array(uint32),
  timings: fc.array(fc.record({ stage: uint32, computeUs: uint32, queueUs: uint32, sentBytes: uint32 })),
  committed: fc.array(
    fc.record({
      slot: uint32,
      generation: uint32,
      position: uint32,
      tokens: fc.array(int32),
      logprobs: fc.array(fc.record({ logprob: float32, topTokens: fc.array(int32), topLogprobs: fc.array(float32) }), {
        maxLength: 2,
      }),
      failure: fc.option(fc.string(), { nil: undefined }),
      hidden: fc.array(float32),
    }),
  ),
  failure: fc.option(fc.record({ stage: uint32, kind: fc.string(), message: fc.string() }), { nil: undefined }),
});

test('every frame decodes to what was encoded', () => {
  fc.assert(
    fc.property(frames, (frame) => {
      const decoded = StepFrame.decode(encodeStepFrame(frame));
      expect({ ...decoded, activations: Uint8Array.from(decoded.activations) }).toEqual(frame);
    }),
  );
});

test.each([0, 1, 127, 128, 16_383, 16_384, 3_000_000])('%i bytes of activations keep their length', (length) => {
  const frame = StepFrame.fromPartial({ pipeline: 'p', step: 7, activations: Buffer.alloc(length, 'ab') });
  const decoded = StepFrame.decode(encodeStepFrame(frame));
  expect(Buffer.compare(decoded.activations, frame.activations)).toBe(0);
  expect(decoded.step).toBe(7);
});

test('encoding copies the activations once into a message of just their size, and decoding copies nothing', () => {
  const frame = StepFrame.fromPartial({ pipeline: 'p', activations: Buffer.alloc(20_000, 1) });
  const message = encodeStepFrame(frame);
  expect(message.buffer.byteLength).toBe(message.length);
  expect(message.length - 20_000).toBeLessThan(32);
  const decoded = ringServiceDefinition.follow.responseDeserialize(message);
  expect(decoded.activations.buffer).toBe(message.buffer);
});
