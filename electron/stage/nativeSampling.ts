import type { Sampling } from '../wire/generated/roomful/v1/ring.ts';
import type { NativeSampling } from './nativeAddon.ts';

/** Sampling as it came over the wire, as the addon takes it. */
export function nativeSampling({ seed, biasTokens, biases, grammar, topLogprobs, ...plain }: Sampling): NativeSampling {
  return {
    ...plain,
    seed: BigInt(seed),
    logitBias:
      biasTokens.length === 0 ? null : { tokens: Int32Array.from(biasTokens), biases: Float32Array.from(biases) },
    grammar: grammar ?? null,
    topLogprobs: topLogprobs ?? null,
  };
}
