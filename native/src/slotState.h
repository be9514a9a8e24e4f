#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sequenceSampler.h"

namespace roomful {

/** What a stage that samples knows of a slot beside its KV, which holds exactly `tokens`. */
struct SlotState {
  std::vector<int32_t> tokens;
  /** The token that was sampled to follow them, until it comes or the slot is cut. */
  std::optional<int32_t> next;
  std::optional<SequenceSampler> sampler;

  void truncate(size_t length) {
    if (length >= tokens.size()) return;
    tokens.resize(length);
    next.reset();
    if (sampler) sampler->rewind(length);
  }
};

}  // namespace roomful
