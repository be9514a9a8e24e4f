#pragma once

#include <span>

#include "llamaApi.h"
#include "step.h"
#include "stepBatch.h"

namespace roomful {

/**
 * What a model that turns whole texts into vectors does in place of decoding (bert and the like): every text is a sequence
 * of its own, computed in one micro-batch with all the others of its step, and llama.cpp pools its rows as the model's
 * header says. Nothing of a text is left afterwards.
 */
class TextPooler {
 public:
  TextPooler(const LlamaApi& api, const llama_model* model) : api_(api), model_(model) {}

  /** Sets what such a context needs beyond that of a text model; `batch` is the most tokens of one step. */
  void configure(llama_context_params& params, uint32_t batch) const;
  /** Why the context gives no vectors of texts; Nothing where it does. */
  Status check(const llama_context* context) const;
  /** Why a run is not one whole text that the model knows the positions of; Nothing where it is. */
  Status checkRun(const Run& run) const;
  /** The status of llama_decode or llama_encode. */
  int32_t compute(llama_context* context, StepBatch& batch) const;
  /** Takes the vector of each run, of no particular length, [n_embd_out]. */
  Status take(llama_context* context, std::span<const Run> runs, StepResult& result) const;
  /** Bytes by which llama.cpp's outputs, one row per slot at first, grow once its largest step comes. */
  uint64_t outputGrowth(uint32_t batch, uint32_t slots) const;

 private:
  const LlamaApi& api_;
  const llama_model* const model_;
};

}  // namespace roomful
