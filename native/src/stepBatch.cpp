#include "stepBatch.h"

namespace roomful {

StepBatch::StepBatch(size_t capacity, int32_t columns, int32_t positionsPerRow)
    : columns_(static_cast<size_t>(columns)),
      positionsPerRow_(static_cast<size_t>(positionsPerRow)),
      tokens_(capacity),
      embeddings_(capacity * columns_),
      positions_(capacity * positionsPerRow_),
      sequenceCounts_(capacity, 1),
      sequences_(capacity),
      sequencePointers_(capacity),
      outputs_(capacity),
      padding_(capacity) {
  for (size_t i = 0; i < capacity; i++) sequencePointers_[i] = &sequences_[i];
}

void StepBatch::fill(std::span<const Run> runs, bool allOutputs) {
  count_ = 0;
  for (const Run& run : runs) count_ += run.rows();
  size_t row = 0;
  for (const Run& run : runs) {
    for (size_t i = 0; i < run.rows(); i++, row++) {
      const llama_pos position = run.start + static_cast<llama_pos>(i);
      const bool isPad = i >= run.tokens.size();
      padding_[row] = isPad;
      tokens_[row] = isPad ? 0 : run.tokens[i];
      sequences_[row] = run.slot;
      const bool isEmbedded = run.embed == RunEmbed::Last ? i + 1 == run.tokens.size() : run.embed != RunEmbed::None;
      outputs_[row] = allOutputs || isEmbedded || isPad || (run.sampling && i >= run.firstSampled()) ? 1 : 0;
      // Text has the same position in every section, laid out section by section; llama.cpp wants the last one zero.
      for (size_t section = 0; section < positionsPerRow_; section++) {
        positions_[section * count_ + row] = section == 3 ? 0 : position;
      }
    }
  }
}

llama_batch StepBatch::view() {
  const bool hasEmbeddings = columns_ > 0;
  return llama_batch{
      .n_tokens = static_cast<int32_t>(count_),
      .token = hasEmbeddings ? nullptr : tokens_.data(),
      .embd = hasEmbeddings ? embeddings_.data() : nullptr,
      .pos = positions_.data(),
      .n_seq_id = sequenceCounts_.data(),
      .seq_id = sequencePointers_.data(),
      .logits = outputs_.data(),
  };
}

}  // namespace roomful
