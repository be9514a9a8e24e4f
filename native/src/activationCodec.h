#pragma once

#include <span>

#include "llamaApi.h"
#include "step.h"

namespace roomful {

/** Converts activations as they came over the wire, aligned or not, straight into llama.cpp's input. */
void widenActivations(const LlamaApi& api, ActivationFormat format, std::span<const std::byte> from,
                      std::span<float> to);

/**
 * Converts f32 values to f16 in place, into the first half of the same bytes. When f16 cannot hold one of them (not
 * finite, or beyond 65504) nothing is changed and false is returned.
 */
bool narrowActivations(const LlamaApi& api, std::span<std::byte> values);

}  // namespace roomful
