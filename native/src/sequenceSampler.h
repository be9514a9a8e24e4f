#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "failure.h"
#include "samplerPointer.h"
#include "step.h"

namespace roomful {

/** What a sampler must know of its stage. */
struct SamplerSetting {
  /** Null where the stage has no tokenizer: grammars are refused then. */
  const llama_vocab* vocabulary;
  int32_t vocabularySize;
  /** Most tokens of a sequence. */
  int32_t longest;
};

/** Room that the samplers of a stage share, so that it is allocated once. */
struct SamplerRoom {
  std::vector<llama_token_data> prepared;
  std::vector<llama_token_data> candidates;
  std::vector<double> weights;
};

/**
 * Picks the tokens of one sequence. In the order of llama.cpp's default chain, with its samplers: logit bias, penalties,
 * top_k, top_p, min_p, temperature; then one of the rest is drawn with uniformAt(seed, choice, position), so the token
 * depends on nothing but logits, parameters, history and place. Temperature 0 takes the highest logit after bias and
 * penalties; the lowest id wins ties.
 *
 * The repetition penalty counts prompt and answer; frequency and presence penalties count the answer alone, as OpenAI and
 * vLLM have it. A grammar holds for the answer. As in llama.cpp it is asked about the token that was picked, and only where
 * it refuses that one does it mask all others, and another number, uniformAt(seed, choice, 2^32 + position), draws again.
 *
 * Its state follows the sequence: `follow` takes in what was committed, `rewind` forgets what was removed. While drafts are
 * verified a token is taken in only once it is accepted, so that nothing ever has to be taken back, or cloned.
 */
class SequenceSampler {
 public:
  /** Fails with BadArgument where the grammar cannot be read. */
  static Outcome<SequenceSampler> open(const LlamaApi& api, const SamplerSetting& setting, const Sampling& sampling);

  const Sampling& sampling() const { return sampling_; }
  /** Takes in the tokens of `history` that are new. Fails with BadArgument where the answer breaks the grammar. */
  Status follow(std::span<const int32_t> history);
  /** The history was cut to `length`. */
  void rewind(size_t length);
  /** The token after the history. Fails where no token is possible. */
  Outcome<int32_t> sample(std::span<const float> logits, SamplerRoom& room);

 private:
  /** A penalty sampler and the tokens that it would change, since it looks up every candidate that it is given. */
  struct Penalty {
    SamplerPointer sampler;
    std::vector<llama_token_data> counted;
    std::unordered_set<int32_t> seen;
  };

  SequenceSampler(const LlamaApi& api, const SamplerSetting& setting, const Sampling& sampling);

  std::optional<Penalty> penalty(double repetition, double frequency, double presence) const;
  void accept(std::optional<Penalty>& penalty, int32_t token) const;
  void apply(std::optional<Penalty>& penalty, std::vector<llama_token_data>& all) const;
  void prepare(std::span<const float> logits, std::vector<llama_token_data>& all);
  Outcome<int32_t> highestAllowed(SamplerRoom& room) const;
  Outcome<int32_t> draw(SamplerRoom& room, uint64_t place) const;

  const LlamaApi* api_;
  SamplerSetting setting_;
  Sampling sampling_;
  SamplerPointer bias_;
  std::optional<Penalty> repetition_;
  std::optional<Penalty> answer_;
  SamplerPointer chain_;
  SamplerPointer grammar_;
  size_t followed_ = 0;
};

}  // namespace roomful
