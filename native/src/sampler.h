#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "failure.h"
#include "step.h"

namespace roomful {

/**
 * Picks a token from logits. Temperature 0 takes the highest logit; the lowest id wins ties. Otherwise, in the order of
 * llama.cpp's default chain, top_p keeps the most probable tokens until their probabilities at temperature 1 reach
 * it, then the temperature is applied, and one of the rest is drawn with uniformAt(seed, choice, position).
 *
 * llama_sampler is not used for this: its sort leaves the order of equal logits open and its final draw has a state,
 * while the token here must depend on nothing but logits, parameters and place.
 */
class Sampler {
 public:
  /** `position` is that of the token to be drawn. Fails when no logit is a number. */
  Outcome<int32_t> sample(std::span<const float> logits, const Sampling& sampling, int32_t position);

 private:
  struct Candidate {
    int32_t token;
    float logit;
  };
  void keepNucleus(std::span<const float> logits, float highest, double topP);

  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace roomful
