#pragma once

#include <napi.h>

#include <vector>

#include "failure.h"
#include "stage.h"

namespace roomful {

/** Reads NativeLoadOptions (electron/stage/nativeAddon.ts). */
Outcome<StageOptions> readStageOptions(const LlamaApi& api, const Napi::Value& value);

/** What a step must fit to. */
struct StepLimits {
  Role role;
  int32_t slots;
  int32_t columns;
};

struct ReadStep {
  Step step;
  /** The views whose memory the step points into. */
  std::vector<Napi::Object> inUse;
};

/** Reads NativeStep: everything that can be known without asking the KV cache is checked here. */
Outcome<ReadStep> readStep(const Napi::Value& value, const StepLimits& limits);

}  // namespace roomful
