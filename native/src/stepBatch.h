#pragma once

#include <span>
#include <vector>

#include "llamaApi.h"
#include "step.h"

namespace roomful {

/** The memory behind a llama_batch, allocated once for the largest step of a stage. */
class StepBatch {
 public:
  /** `columns` is 0 when the stage takes tokens; `positionsPerRow` is 4 for models with multi-section rope. */
  StepBatch(size_t capacity, int32_t columns, int32_t positionsPerRow);

  /**
   * Lays out the runs in order. Rows whose output llama.cpp must keep are all of them when `allOutputs`, else those that
   * are sampled, embedded, or pad those of a step that samples: the head's kernel wants full blocks too.
   */
  void fill(std::span<const Run> runs, bool allOutputs);

  size_t rows() const { return count_; }
  /** For each row whether it only pads. */
  std::span<const uint8_t> padding() const { return std::span(padding_).first(count_); }
  /** Where the activations or embeddings of the runs go, [rows, columns]. */
  std::span<float> activations() { return std::span(embeddings_).first(count_ * columns_); }
  std::span<const int32_t> tokens() const { return std::span(tokens_).first(count_); }

  llama_batch view();

 private:
  const size_t columns_;
  const size_t positionsPerRow_;
  size_t count_ = 0;
  std::vector<llama_token> tokens_;
  std::vector<float> embeddings_;
  std::vector<llama_pos> positions_;
  std::vector<int32_t> sequenceCounts_;
  std::vector<llama_seq_id> sequences_;
  std::vector<llama_seq_id*> sequencePointers_;
  std::vector<int8_t> outputs_;
  std::vector<uint8_t> padding_;
};

}  // namespace roomful
