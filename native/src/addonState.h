#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <set>

#include "jsLoop.h"
#include "pendingCalls.h"
#include "stageRunner.h"

namespace roomful {

/** What one environment (the main thread of a process or a worker) holds of the addon. */
class AddonState {
 public:
  explicit AddonState(Napi::Env env) : loop(env), calls(loop) {}

  static AddonState& of(Napi::Env env) { return *env.GetInstanceData<AddonState>(); }

  /** A new runner, owned here until it has ended. Fails after close(). */
  Outcome<std::shared_ptr<StageRunner>> startRunner();

  /** A thread for work that belongs to no stage. Fails after close(). */
  Outcome<ComputeThread*> background();

  /**
   * Ends every thread. Called while the environment still stands, so that no thread outlives what it reports to, and
   * before the process exits, which destroys the static objects of llama.cpp under a thread that computes.
   */
  void close();

  JsLoop loop;
  PendingCalls calls;
  Napi::FunctionReference stageClass;
  Napi::FunctionReference vocabularyClass;

 private:
  std::set<std::shared_ptr<StageRunner>> runners_;
  std::optional<ComputeThread> background_;
  bool closed_ = false;
};

}  // namespace roomful
