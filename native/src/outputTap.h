#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "llamaApi.h"

namespace roomful {

/**
 * Takes the output of a stage's last layer out of llama.cpp's graph (ENGINE.md section 3): the scheduler asks it for
 * every tensor, it answers yes to `l_out-<layers - 1>` alone, copies that as f32 to where the step wants it, and stops
 * the rest of the graph (norm and head). Called once per micro-batch of llama.cpp, in order.
 */
class OutputTap {
 public:
  OutputTap(const LlamaApi& api, int32_t layers, int32_t columns);

  /** From here on rows go to `destination`. */
  void begin(std::span<std::byte> destination);
  /** Bytes written since begin(), or the reason why the output cannot be used. */
  Outcome<size_t> end();

  /** To be given to llama.cpp with the tap as user data. */
  static bool onTensor(ggml_tensor* tensor, bool ask, void* self);

 private:
  void take(const ggml_tensor* tensor);

  const LlamaApi& api_;
  const std::string name_;
  const int64_t columns_;
  std::span<std::byte> destination_;
  size_t written_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace roomful
