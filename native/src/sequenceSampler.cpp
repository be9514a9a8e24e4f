#include "sequenceSampler.h"

#include <algorithm>
#include <cmath>

#include "counterRandom.h"
#include "grammar.h"

namespace roomful {

namespace {

constexpr uint64_t kSecondDraw = uint64_t{1} << 32;
constexpr size_t kAskedFirst = 256;

bool moreProbable(const llama_token_data& a, const llama_token_data& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/** The index of the highest logit, the lowest of equals; the size where none is a finite number. */
template <class Item, class LogitOf>
size_t highestOf(std::span<const Item> items, LogitOf logitOf) {
  size_t best = items.size();
  float highest = -INFINITY;
  for (size_t i = 0; i < items.size(); i++) {
    const float logit = logitOf(items[i]);
    if (logit > highest) {
      highest = logit;
      best = i;
    }
  }
  return std::isfinite(highest) ? best : items.size();
}

Failure noToken() {
  return {FailureCode::DecodeFailed, "the grammar and the logit biases leave no token to go on with"};
}

}  // namespace

SequenceSampler::SequenceSampler(const LlamaApi& api, const SamplerSetting& setting, const Sampling& sampling)
    : api_(&api),
      setting_(setting),
      sampling_(sampling),
      bias_(nullptr, FreeSampler{&api}),
      repetition_(penalty(sampling.repetitionPenalty, 0, 0)),
      answer_(penalty(1, sampling.frequencyPenalty, sampling.presencePenalty)),
      chain_(nullptr, FreeSampler{&api}),
      grammar_(nullptr, FreeSampler{&api}) {
  std::vector<llama_logit_bias> biases;
  for (const TokenBias& bias : sampling.logitBias) {
    if (bias.token >= 0 && bias.token < setting.vocabularySize) biases.push_back({bias.token, bias.bias});
  }
  if (!biases.empty()) {
    bias_.reset(api.llama_sampler_init_logit_bias(setting.vocabularySize, static_cast<int32_t>(biases.size()),
                                                  biases.data()));
  }
  if (sampling.temperature <= 0) return;
  llama_sampler_chain_params params = api.llama_sampler_chain_default_params();
  params.no_perf = true;
  chain_.reset(api.llama_sampler_chain_init(params));
  const auto add = [&](llama_sampler* sampler) { api.llama_sampler_chain_add(chain_.get(), sampler); };
  if (sampling.topK > 0) add(api.llama_sampler_init_top_k(sampling.topK));
  if (sampling.topP < 1) add(api.llama_sampler_init_top_p(static_cast<float>(sampling.topP), 1));
  if (sampling.minP > 0) add(api.llama_sampler_init_min_p(static_cast<float>(sampling.minP), 1));
  add(api.llama_sampler_init_temp(static_cast<float>(sampling.temperature)));
}

Outcome<SequenceSampler> SequenceSampler::open(const LlamaApi& api, const SamplerSetting& setting,
                                               const Sampling& sampling) {
  SequenceSampler sampler(api, setting, sampling);
  if (sampling.grammar) {
    if (!setting.vocabulary) {
      return Failure{FailureCode::BadArgument, "a grammar needs a tokenizer, and this stage was loaded without one"};
    }
    Outcome<SamplerPointer> grammar = openGrammar(api, setting.vocabulary, *sampling.grammar);
    if (!grammar.ok()) return grammar.failure();
    sampler.grammar_ = std::move(grammar.value());
  }
  return sampler;
}

std::optional<SequenceSampler::Penalty> SequenceSampler::penalty(double repetition, double frequency,
                                                                 double presence) const {
  if (repetition == 1 && frequency == 0 && presence == 0) return std::nullopt;
  llama_sampler* sampler = api_->llama_sampler_init_penalties(setting_.vocabularySize, setting_.longest,
                                                              static_cast<float>(repetition),
                                                              static_cast<float>(frequency),
                                                              static_cast<float>(presence));
  return Penalty{SamplerPointer(sampler, FreeSampler{api_}), {}, {}};
}

void SequenceSampler::accept(std::optional<Penalty>& penalty, int32_t token) const {
  // A last stage is told the ids by others; it only counts them.
  if (!penalty || token < 0 || token >= setting_.vocabularySize) return;
  api_->llama_sampler_accept(penalty->sampler.get(), token);
  if (penalty->seen.insert(token).second) penalty->counted.push_back({token, 0, 0});
}

void SequenceSampler::apply(std::optional<Penalty>& penalty, std::vector<llama_token_data>& all) const {
  if (!penalty || penalty->counted.empty()) return;
  for (llama_token_data& entry : penalty->counted) entry.logit = all[static_cast<size_t>(entry.id)].logit;
  llama_token_data_array array{penalty->counted.data(), penalty->counted.size(), -1, false};
  api_->llama_sampler_apply(penalty->sampler.get(), &array);
  for (const llama_token_data& entry : penalty->counted) all[static_cast<size_t>(entry.id)].logit = entry.logit;
}

Status SequenceSampler::follow(std::span<const int32_t> history) {
  for (; followed_ < history.size(); followed_++) {
    const int32_t token = history[followed_];
    accept(repetition_, token);
    if (followed_ < static_cast<size_t>(sampling_.promptLength)) continue;
    accept(answer_, token);
    if (!grammar_) continue;
    // llama.cpp ends the process over an end token that comes too early.
    if (token < 0 || token >= setting_.vocabularySize || !allows(*api_, grammar_.get(), token)) {
      return Failure{FailureCode::BadArgument, "the answer so far does not follow the grammar"};
    }
    api_->llama_sampler_accept(grammar_.get(), token);
  }
  return Nothing{};
}

void SequenceSampler::rewind(size_t length) {
  if (followed_ <= length) return;
  followed_ = 0;
  for (std::optional<Penalty>* penalty : {&repetition_, &answer_}) {
    if (!*penalty) continue;
    api_->llama_sampler_reset((*penalty)->sampler.get());
    (*penalty)->counted.clear();
    (*penalty)->seen.clear();
  }
  if (grammar_) api_->llama_sampler_reset(grammar_.get());
}

Outcome<int32_t> SequenceSampler::sample(std::span<const float> logits, SamplerRoom& room) {
  const size_t best = highestOf(logits, [](float logit) { return logit; });
  if (best == logits.size()) {
    return Failure{FailureCode::DecodeFailed, "the model's logits are not finite numbers"};
  }
  const bool isGreedy = sampling_.temperature <= 0;
  const auto isAllowed = [&](int32_t token) { return !grammar_ || allows(*api_, grammar_.get(), token); };
  const bool changesLogits = bias_ || repetition_ || answer_;
  if (isGreedy && !changesLogits && isAllowed(static_cast<int32_t>(best))) return static_cast<int32_t>(best);

  prepare(logits, room.prepared);
  if (isGreedy) {
    const std::span<const llama_token_data> all(room.prepared);
    const size_t highest = highestOf(all, [](const llama_token_data& entry) { return entry.logit; });
    if (highest == all.size()) return noToken();
    if (isAllowed(all[highest].id)) return all[highest].id;
    return highestAllowed(room);
  }
  room.candidates = room.prepared;
  const Outcome<int32_t> drawn = draw(room, followed_);
  if (!drawn.ok() || isAllowed(drawn.value())) return drawn;
  room.candidates = room.prepared;
  llama_token_data_array array{room.candidates.data(), room.candidates.size(), -1, false};
  api_->llama_sampler_apply(grammar_.get(), &array);
  return draw(room, kSecondDraw + followed_);
}

/** All tokens in the order of their ids, with bias and penalties. */
void SequenceSampler::prepare(std::span<const float> logits, std::vector<llama_token_data>& all) {
  all.resize(logits.size());
  for (size_t i = 0; i < logits.size(); i++) {
    all[i] = {static_cast<int32_t>(i), std::isnan(logits[i]) ? -INFINITY : logits[i], 0.0f};
  }
  if (bias_) {
    llama_token_data_array array{all.data(), all.size(), -1, false};
    api_->llama_sampler_apply(bias_.get(), &array);
  }
  apply(repetition_, all);
  apply(answer_, all);
}

/** The most probable tokens are asked about first: a grammar takes tens of ms for a whole vocabulary. */
Outcome<int32_t> SequenceSampler::highestAllowed(SamplerRoom& room) const {
  auto& all = room.prepared;
  const auto best = all.begin() + static_cast<std::ptrdiff_t>(std::min(kAskedFirst, all.size()));
  std::partial_sort(all.begin(), best, all.end(), moreProbable);
  for (const auto& [from, to] : {std::pair(all.begin(), best), std::pair(best, all.end())}) {
    room.candidates.assign(from, to);
    llama_token_data_array array{room.candidates.data(), room.candidates.size(), -1, false};
    api_->llama_sampler_apply(grammar_.get(), &array);
    std::erase_if(room.candidates, [](const llama_token_data& entry) { return !std::isfinite(entry.logit); });
    const auto highest = std::min_element(room.candidates.begin(), room.candidates.end(), moreProbable);
    if (highest != room.candidates.end()) return highest->id;
  }
  return noToken();
}

Outcome<int32_t> SequenceSampler::draw(SamplerRoom& room, uint64_t place) const {
  // llama.cpp's sort takes finite numbers only.
  std::erase_if(room.candidates, [](const llama_token_data& entry) { return !std::isfinite(entry.logit); });
  if (room.candidates.empty()) return noToken();
  llama_token_data_array array{room.candidates.data(), room.candidates.size(), -1, false};
  api_->llama_sampler_apply(chain_.get(), &array);
  const std::span<llama_token_data> left(array.data, array.size);
  // The library's sort leaves the order of equals open.
  if (array.sorted) std::sort(left.begin(), left.end(), moreProbable);

  float highest = -INFINITY;
  for (const llama_token_data& entry : left) highest = std::max(highest, entry.logit);
  room.weights.clear();
  double total = 0;
  for (const llama_token_data& entry : left) {
    room.weights.push_back(std::exp(static_cast<double>(entry.logit) - highest));
    total += room.weights.back();
  }
  double rest = uniformAt(sampling_.seed, sampling_.choice, place) * total;
  for (size_t i = 0; i < left.size(); i++) {
    rest -= room.weights[i];
    if (rest < 0) return left[i].id;
  }
  return left.back().id;
}

}  // namespace roomful
