#include "activationCodec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace roomful {

namespace {

/** Values are converted in blocks of this many, small enough for the first-level cache: views may be unaligned. */
constexpr size_t kBlock = 512;
constexpr float kMostF16 = 65504.0f;

bool fitsF16(std::span<const std::byte> values) {
  std::array<float, kBlock> block;
  for (size_t at = 0; at < values.size(); at += sizeof(block)) {
    const size_t bytes = std::min(sizeof(block), values.size() - at);
    std::memcpy(block.data(), values.data() + at, bytes);
    bool fits = true;
    // The negated comparison is also false for NaN.
    for (size_t i = 0; i < bytes / sizeof(float); i++) fits &= std::fabs(block[i]) <= kMostF16;
    if (!fits) return false;
  }
  return true;
}

}  // namespace

void widenActivations(const LlamaApi& api, ActivationFormat format, std::span<const std::byte> from,
                      std::span<float> to) {
  if (format == ActivationFormat::F32) {
    std::memcpy(to.data(), from.data(), to.size_bytes());
    return;
  }
  std::array<ggml_fp16_t, kBlock> block;
  for (size_t at = 0; at < to.size(); at += kBlock) {
    const size_t count = std::min(kBlock, to.size() - at);
    std::memcpy(block.data(), from.data() + at * sizeof(ggml_fp16_t), count * sizeof(ggml_fp16_t));
    api.ggml_fp16_to_fp32_row(block.data(), to.data() + at, static_cast<int64_t>(count));
  }
}

bool narrowActivations(const LlamaApi& api, std::span<std::byte> values) {
  if (!fitsF16(values)) return false;
  const size_t total = values.size() / sizeof(float);
  std::array<float, kBlock> wide;
  std::array<ggml_fp16_t, kBlock> narrow;
  for (size_t at = 0; at < total; at += kBlock) {
    const size_t count = std::min(kBlock, total - at);
    std::memcpy(wide.data(), values.data() + at * sizeof(float), count * sizeof(float));
    api.ggml_fp32_to_fp16_row(wide.data(), narrow.data(), static_cast<int64_t>(count));
    std::memcpy(values.data() + at * sizeof(ggml_fp16_t), narrow.data(), count * sizeof(ggml_fp16_t));
  }
  return true;
}

}  // namespace roomful
