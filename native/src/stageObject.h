#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <vector>

#include "stageArguments.h"
#include "stageRunner.h"

namespace roomful {

class AddonState;

/** NativeStage of electron/stage/nativeAddon.ts. */
class StageObject : public Napi::ObjectWrap<StageObject> {
 public:
  static Napi::Function define(Napi::Env env);

  /** loadStage(options, onProgress, signal?) of the addon. */
  static Napi::Value load(const Napi::CallbackInfo& info);

  explicit StageObject(const Napi::CallbackInfo& info);
  /** Unloads a stage that was dropped without unload(). */
  ~StageObject() override;

 private:
  /** What a stage that was loaded hands to the constructor. */
  struct Loaded {
    std::shared_ptr<StageRunner> runner;
    StepLimits limits;
    int32_t vocabularySize;
    MemoryReport memory;
  };

  Napi::Value embeddingLength(const Napi::CallbackInfo& info);
  Napi::Value vocabularySize(const Napi::CallbackInfo& info);
  Napi::Value decode(const Napi::CallbackInfo& info);
  Napi::Value closeSlot(const Napi::CallbackInfo& info);
  Napi::Value truncate(const Napi::CallbackInfo& info);
  Napi::Value copyPrefix(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  Napi::Value memory(const Napi::CallbackInfo& info);
  Napi::Value unload(const Napi::CallbackInfo& info);

  bool isLoaded() const { return loaded_ && !unloading_; }
  Outcome<int32_t> readSlot(const Napi::Value& value, const char* what) const;
  /** Runs work on the stage's thread after what is queued there (see PendingCalls::submit). */
  template <class Work, class Convert>
  Napi::Value queue(Napi::Env env, std::vector<Napi::Object> inUse, Work work, Convert convert);
  /** Runs `(Stage&) -> Status` after what is queued, as a promise of nothing. */
  template <class Work>
  Napi::Value bookkeep(Napi::Env env, Work work);

  std::optional<Loaded> loaded_;
  bool unloading_ = false;
};

}  // namespace roomful
