#pragma once

#include <cstdint>

namespace roomful {

/** One step of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"). */
constexpr uint64_t splitMix64(uint64_t state) {
  uint64_t z = state + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/**
 * The uniform number in [0, 1) for one token: a pure function of its arguments, made of integer operations only, so
 * that every machine draws the same token for the same place of the same request.
 *
 *   u = (mix(mix(mix(seed) ^ choice) ^ position) >> 11) / 2^53, mix = splitMix64
 */
constexpr double uniformAt(uint64_t seed, uint64_t choice, uint64_t position) {
  const uint64_t bits = splitMix64(splitMix64(splitMix64(seed) ^ choice) ^ position);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace roomful
