#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "llamaApi.h"

namespace roomful {

/**
 * Takes one tensor out of llama.cpp's graph (ENGINE.md section 3): the scheduler asks it for every tensor, between begin()
 * and end() it answers yes to that of its name alone, copies it as f32 to where it is wanted, and stops the rest of the
 * graph. Called once per micro-batch of llama.cpp, in order.
 */
class OutputTap {
 public:
  OutputTap(const LlamaApi& api, std::string name, int32_t columns);

  /** From here on rows go to `destination`. */
  void begin(std::span<std::byte> destination);
  /** For each row that is computed next whether it is left out; until then, and beyond them, all rows are taken. */
  void leaveOut(std::span<const uint8_t> rows);
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
  bool open_ = false;
  std::span<const uint8_t> leftOut_;
  size_t written_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace roomful
