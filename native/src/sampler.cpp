#include "sampler.h"

#include <algorithm>
#include <cmath>

#include "counterRandom.h"

namespace roomful {

Outcome<int32_t> Sampler::sample(std::span<const float> logits, const Sampling& sampling, int32_t position) {
  int32_t best = -1;
  float highest = -INFINITY;
  for (size_t i = 0; i < logits.size(); i++) {
    if (logits[i] > highest) {
      highest = logits[i];
      best = static_cast<int32_t>(i);
    }
  }
  if (best < 0 || !std::isfinite(highest)) {
    return Failure{FailureCode::DecodeFailed, "the model's logits are not finite numbers"};
  }
  if (sampling.temperature <= 0) return best;

  keepNucleus(logits, highest, sampling.topP);
  weights_.clear();
  double total = 0;
  for (const Candidate& candidate : candidates_) {
    const double shifted = (static_cast<double>(candidate.logit) - highest) / sampling.temperature;
    // A logit that is not a number takes no part.
    const double weight = std::isnan(shifted) ? 0 : std::exp(shifted);
    weights_.push_back(weight);
    total += weight;
  }
  double left = uniformAt(sampling.seed, sampling.choice, static_cast<uint64_t>(position)) * total;
  for (size_t i = 0; i < candidates_.size(); i++) {
    left -= weights_[i];
    if (left < 0) return candidates_[i].token;
  }
  return best;
}

void Sampler::keepNucleus(std::span<const float> logits, float highest, double topP) {
  candidates_.clear();
  double total = 0;
  for (size_t i = 0; i < logits.size(); i++) {
    if (std::isnan(logits[i])) continue;
    candidates_.push_back({static_cast<int32_t>(i), logits[i]});
    total += std::exp(static_cast<double>(logits[i]) - highest);
  }
  if (topP >= 1) return;

  const auto moreProbable = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  // A nucleus is mostly small: sort as much as is needed, four times as much each time.
  double reached = 0;
  size_t kept = 0;
  for (size_t sorted = 0; sorted < candidates_.size();) {
    const size_t next = std::min(candidates_.size(), std::max<size_t>(128, sorted * 4));
    const auto at = [&](size_t index) { return candidates_.begin() + static_cast<std::ptrdiff_t>(index); };
    std::partial_sort(at(sorted), at(next), candidates_.end(), moreProbable);
    sorted = next;
    while (kept < sorted && (kept == 0 || reached < topP * total)) {
      reached += std::exp(static_cast<double>(candidates_[kept].logit) - highest);
      kept++;
    }
    if (reached >= topP * total) break;
  }
  candidates_.resize(kept);
}

}  // namespace roomful
