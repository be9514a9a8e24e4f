#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roomful {

/** An embedder is a whole model that gives a vector for each text and no tokens. */
enum class Role { Whole, First, Middle, Last, Embedder };

/** Whether a stage of this role takes token ids rather than activations. */
constexpr bool takesTokens(Role role) { return role == Role::Whole || role == Role::First || role == Role::Embedder; }
constexpr bool samplesTokens(Role role) { return role == Role::Whole || role == Role::Last; }
constexpr bool givesActivations(Role role) { return role == Role::First || role == Role::Middle; }

/** What a run asks for in place of a token: the sum of its rows, its last row, or what the model pools of its text. */
enum class RunEmbed { None, Sum, Last, Pooled };

enum class ActivationFormat { F16, F32 };

constexpr size_t bytesPerValue(ActivationFormat format) { return format == ActivationFormat::F16 ? 2 : 4; }

struct TokenBias {
  int32_t token;
  float bias;
  bool operator==(const TokenBias&) const = default;
};

/** NativeSampling of electron/stage/nativeAddon.ts. */
struct Sampling {
  double temperature;
  int32_t topK;
  double topP;
  double minP;
  double repetitionPenalty;
  double frequencyPenalty;
  double presencePenalty;
  std::vector<TokenBias> logitBias;
  std::optional<std::string> grammar;
  int32_t promptLength;
  std::optional<int32_t> topLogprobs;
  uint64_t seed;
  uint64_t choice;
  bool operator==(const Sampling&) const = default;
};

/** Consecutive tokens of one slot. */
struct Run {
  int32_t slot;
  int32_t start;
  std::vector<int32_t> tokens;
  std::optional<int32_t> truncateTo;
  std::optional<Sampling> sampling;
  /** How many of the last tokens are drafts. */
  size_t drafts = 0;
  /** How many of the last rows are computed each by itself. */
  size_t aloneRows = 0;
  /** In place of tokens: rows that fill the blocks of a kernel up, are given to nobody, and removed at once. */
  size_t padRows = 0;
  RunEmbed embed = RunEmbed::None;

  /** Whether even the first token is a draft, and so depends on what was sampled before. */
  bool continuesDrafts() const { return !tokens.empty() && drafts == tokens.size(); }
  size_t rows() const { return tokens.size() + padRows; }
  /** The first row whose logits are sampled. */
  size_t firstSampled() const { return tokens.size() - std::min(drafts + 1, tokens.size()); }
};

/** One traversal of a stage by a micro-batch. The spans lie in memory of JavaScript that the caller keeps alive. */
struct Step {
  std::vector<Run> runs;
  size_t tokenCount;
  size_t padRows = 0;
  ActivationFormat inputFormat;
  std::span<const std::byte> input;
  ActivationFormat outputFormat;
  std::span<std::byte> output;
};

struct TokenLogprob {
  int32_t token;
  float logprob;
};

struct SampledToken {
  int32_t slot;
  int32_t position;
  int32_t token;
  std::optional<float> logprob;
  std::vector<TokenLogprob> top;
};

/** Why no further token of a slot could be sampled. */
struct SamplingFailure {
  int32_t slot;
  std::string message;
};

/** What a run that embeds has given: of its hidden states behind the output norm, or pooled. */
struct HiddenState {
  int32_t slot;
  std::vector<float> values;
};

struct StepResult {
  std::optional<ActivationFormat> format;
  size_t byteLength = 0;
  std::vector<SampledToken> sampled;
  std::vector<SamplingFailure> failures;
  std::vector<HiddenState> hidden;
  /** Runs that were left out because the drafts before them were rejected. */
  size_t dropped = 0;
  double computeMs = 0;
};

}  // namespace roomful
