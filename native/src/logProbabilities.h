#pragma once

#include <span>
#include <vector>

#include "step.h"

namespace roomful {

/**
 * Natural logarithms of the softmax over raw logits, [vocabulary]: of `token`, and of the `count` most probable ones,
 * most probable first; the lowest id wins ties. Logits that are not numbers count as never.
 */
struct LogProbabilities {
  float ofToken;
  std::vector<TokenLogprob> top;

  static LogProbabilities of(std::span<const float> logits, int32_t token, size_t count);
};

}  // namespace roomful
