#include "logProbabilities.h"

#include <algorithm>
#include <cmath>

namespace roomful {

LogProbabilities LogProbabilities::of(std::span<const float> logits, int32_t token, size_t count) {
  float highest = -INFINITY;
  for (const float logit : logits) highest = std::max(highest, std::isnan(logit) ? -INFINITY : logit);
  double total = 0;
  for (const float logit : logits) total += std::isnan(logit) ? 0.0f : std::exp(logit - highest);
  const double base = highest + std::log(total);
  const auto of = [&](float logit) { return static_cast<float>(std::isnan(logit) ? -INFINITY : logit - base); };

  const auto moreProbable = [](const TokenLogprob& a, const TokenLogprob& b) { return a.logprob > b.logprob; };
  // Sorted, with the raw logit until the end; the lowest is the one to beat, so most tokens cost one comparison.
  std::vector<TokenLogprob> top;
  top.reserve(std::min(count, logits.size()) + 1);
  for (size_t i = 0; i < logits.size() && count > 0; i++) {
    const float logit = std::isnan(logits[i]) ? -INFINITY : logits[i];
    if (top.size() >= count && !(logit > top.back().logprob)) continue;
    const TokenLogprob entry{static_cast<int32_t>(i), logit};
    top.insert(std::upper_bound(top.begin(), top.end(), entry, moreProbable), entry);
    if (top.size() > count) top.pop_back();
  }
  for (TokenLogprob& entry : top) entry.logprob = of(entry.logprob);
  return {of(logits[static_cast<size_t>(token)]), std::move(top)};
}

}  // namespace roomful
