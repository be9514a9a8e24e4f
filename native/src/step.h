#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace roomful {

enum class Role { Whole, First, Middle, Last };

/** Whether a stage of this role takes token ids rather than activations. */
constexpr bool takesTokens(Role role) { return role == Role::Whole || role == Role::First; }
/** Whether a stage of this role samples tokens rather than giving activations. */
constexpr bool samplesTokens(Role role) { return role == Role::Whole || role == Role::Last; }

enum class ActivationFormat { F16, F32 };

constexpr size_t bytesPerValue(ActivationFormat format) { return format == ActivationFormat::F16 ? 2 : 4; }

struct Sampling {
  double temperature;
  double topP;
  uint64_t seed;
  uint64_t choice;
};

/** Consecutive tokens of one slot. */
struct Run {
  int32_t slot;
  int32_t start;
  std::vector<int32_t> tokens;
  std::optional<int32_t> truncateTo;
  std::optional<Sampling> sampling;
};

/** One traversal of a stage by a micro-batch. The spans lie in memory of JavaScript that the caller keeps alive. */
struct Step {
  std::vector<Run> runs;
  size_t tokenCount;
  ActivationFormat inputFormat;
  std::span<const std::byte> input;
  ActivationFormat outputFormat;
  std::span<std::byte> output;
};

struct SampledToken {
  int32_t slot;
  int32_t position;
  int32_t token;
};

struct StepResult {
  std::optional<ActivationFormat> format;
  size_t byteLength = 0;
  std::vector<SampledToken> sampled;
  double computeMs = 0;
};

}  // namespace roomful
