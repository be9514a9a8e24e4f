#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "embeddingLookup.h"
#include "llamaApi.h"
#include "memoryReport.h"
#include "outputTap.h"
#include "slotState.h"
#include "step.h"
#include "stepBatch.h"
#include "textPooler.h"
#include "vocabulary.h"

namespace roomful {

struct StageOptions {
  std::string path;
  Role role;
  int32_t layers;
  std::optional<EmbeddingTable> embedding;
  uint32_t contextLength;
  int32_t slots;
  uint32_t batch;
  int32_t threads;
  int32_t gpuLayers;
  std::optional<std::string> device;
  ggml_type kvType;
  uint32_t maxOutputs;
  std::optional<std::string> vocabulary;
};

/** Asked while a stage computes: true ends the running step with FailureCode::Cancelled. */
using CancelQuestion = std::function<bool()>;
/** Told the fraction that is loaded; false stops the load with FailureCode::Cancelled. */
using LoadProgress = std::function<bool(float)>;

/**
 * Some layers of a model, or all of them, with the KV cache of their slots. Knows nothing of threads or JavaScript:
 * every call must come from one thread, and blocks it.
 *
 * A step that fails for whatever reason leaves the KV of its slots as the truncations of the step left it.
 *
 * Drafts are checked where tokens are sampled: a run's drafts are taken as long as each is the token that is sampled for
 * its place, and the KV beyond them is cut at once. A run of drafts alone goes on from the run before it; where its first
 * token is not the one that was sampled, it was built on drafts since rejected, and is left out.
 */
class Stage {
  /** Lets load() alone construct, through make_unique. */
  struct Key {};

 public:
  static Outcome<std::unique_ptr<Stage>> load(const LlamaApi& api, const StageOptions& options,
                                              const LoadProgress& progress, CancelQuestion isCancelled);

  Stage(Key, const LlamaApi& api, const StageOptions& options, ModelPointer model, CancelQuestion isCancelled);

  /** Rows that pad and find no room are taken out of the step. */
  Outcome<StepResult> decode(Step& step);
  Status closeSlot(int32_t slot);
  Status truncate(int32_t slot, int32_t position);
  Status copyPrefix(int32_t from, int32_t to, int32_t length);

  int32_t embeddingLength() const { return embeddingLength_; }
  int32_t vocabularySize() const { return vocabularySize_; }
  /** Most tokens in one step. */
  size_t batchLimit() const { return batchLimit_; }
  const MemoryReport& memory() const { return memory_; }

 private:
  struct FreeThreadpool {
    using Function = decltype(&ggml_threadpool_free);
    Function free;
    void operator()(ggml_threadpool* pool) const { free(pool); }
  };

  Status checkModel() const;
  Status openContext();
  void attachThreads();
  bool isStale(const Run& run) const;
  Status checkStep(const Step& step) const;
  void fitPads(Step& step) const;
  void removePads(std::span<const Run> runs);
  Status decodeRuns(const Step& step, StepResult& result);
  Status prepareInput(const Step& step, size_t firstRow);
  Status compute();
  Status giveOutput(const Step& step, StepResult& result);
  Status sample(std::span<const Run> runs, StepResult& result);
  Status decodeRowByRow(const Step& step, const Run& run, size_t firstRow, StepResult& result);
  Status embed(const Step& step, const Run& run, size_t firstRow, StepResult& result);
  Status poolTexts(const Step& step, StepResult& result);
  bool sampleRow(SlotState& slot, const Run& run, size_t at, size_t row, StepResult& result);
  Status sampleRun(const Run& run, size_t firstRow, StepResult& result);
  Outcome<SampledToken> sampleNext(SlotState& slot, const Run& run, size_t row);
  Status openVocabulary();
  Status removeFrom(int32_t slot, int32_t position);
  void rollBack(const Step& step);
  int32_t lengthOf(int32_t slot) const;

  static bool shouldAbort(void* self);

  const LlamaApi& api_;
  const StageOptions options_;
  const CancelQuestion isCancelled_;
  ModelPointer model_;
  const llama_vocab* vocabulary_;
  const int32_t embeddingLength_;
  const int32_t vocabularySize_;
  const bool hasRecurrentState_;
  size_t batchLimit_ = 0;
  size_t outputLimit_ = 0;
  std::optional<EmbeddingLookup> embedding_;
  /** On the output of the last layer, and where this stage samples on that of the norm before the head. */
  OutputTap tap_;
  // Declared before the context, which uses it until it is freed.
  std::unique_ptr<ggml_threadpool, FreeThreadpool> threadpool_;
  ContextPointer context_;
  /** Null where nothing is kept from one step to the next. */
  llama_memory_t kv_ = nullptr;
  std::optional<StepBatch> batch_;
  /** Where this is a model that gives vectors of texts. */
  std::optional<TextPooler> pooler_;
  std::shared_ptr<Vocabulary> ownVocabulary_;
  /** One per slot, where this stage samples. */
  std::vector<SlotState> slots_;
  SamplerRoom room_;
  MemoryReport memory_;
};

}  // namespace roomful
