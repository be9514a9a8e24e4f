#pragma once

#include <napi.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "computeThread.h"
#include "failure.h"
#include "jsError.h"
#include "jsLoop.h"

namespace roomful {

/**
 * The promises that wait for a compute thread. Everything of JavaScript (promise, buffers in use) stays here, on its
 * own thread; a job knows it only by number, so it may be dropped or outlive the environment at any time.
 */
class PendingCalls {
 public:
  explicit PendingCalls(JsLoop& loop) : loop_(loop) {}

  /**
   * Runs `work` (() -> Outcome<T>) on `thread` and settles the returned promise with its failure or with what
   * `convert(env, value)` makes of it (an Outcome<Napi::Value>), on the JavaScript thread. `inUse` is kept alive until
   * then; `settled` is called after it.
   */
  template <class Work, class Convert>
  Napi::Value submit(Napi::Env env, ComputeThread& thread, std::vector<Napi::Object> inUse, Work work, Convert convert,
                     std::function<void(Napi::Env)> settled = {}) {
    const uint64_t id = nextId_++;
    const bool pushed = thread.push([this, id, work = std::move(work), convert = std::move(convert)]() mutable {
      auto outcome = std::make_shared<decltype(work())>(contained(FailureCode::DecodeFailed, work));
      loop_.post([this, id, outcome, convert](Napi::Env taskEnv) {
        const Call call = take(taskEnv, id);
        const Outcome<Napi::Value> result =
            outcome->ok() ? convert(taskEnv, outcome->value()) : Outcome<Napi::Value>(outcome->failure());
        if (result.ok()) call.deferred.Resolve(result.value());
        else call.deferred.Reject(jsError(taskEnv, result.failure()).Value());
        if (call.settled) call.settled(taskEnv);
      });
    });
    if (!pushed) return rejected(env, {FailureCode::Unloaded, "the stage was unloaded"});
    Call call{Napi::Promise::Deferred(env), {}, std::move(settled)};
    for (const Napi::Object& object : inUse) call.inUse.push_back(Napi::Persistent(object));
    const Napi::Promise promise = call.deferred.Promise();
    calls_.emplace(id, std::move(call));
    loop_.hold(env);
    return promise;
  }

  /** Drops all; their promises stay unsettled. For the end of the environment. */
  void clear() { calls_.clear(); }

 private:
  struct Call {
    Napi::Promise::Deferred deferred;
    std::vector<Napi::ObjectReference> inUse;
    std::function<void(Napi::Env)> settled;
  };

  Call take(Napi::Env env, uint64_t id) {
    const auto found = calls_.find(id);
    Call call = std::move(found->second);
    calls_.erase(found);
    loop_.release(env);
    return call;
  }

  JsLoop& loop_;
  uint64_t nextId_ = 0;
  std::unordered_map<uint64_t, Call> calls_;
};

}  // namespace roomful
