#include "addonState.h"

namespace roomful {

namespace {

Failure closing() { return {FailureCode::Unloaded, "the process is about to exit"}; }

}  // namespace

Outcome<std::shared_ptr<StageRunner>> AddonState::startRunner() {
  if (closed_) return closing();
  auto runner = std::make_shared<StageRunner>([this](StageRunner* ended) {
    loop.post([this, ended](Napi::Env) {
      std::erase_if(runners_, [&](const auto& owned) { return owned.get() == ended; });
    });
  });
  runners_.insert(runner);
  return runner;
}

Outcome<ComputeThread*> AddonState::background() {
  if (closed_) return closing();
  if (!background_) background_.emplace();
  return &*background_;
}

void AddonState::close() {
  closed_ = true;
  loop.close();
  // All are told before the first is waited for.
  for (const auto& runner : runners_) runner->abandon();
  for (const auto& runner : runners_) runner->close();
  runners_.clear();
  background_.reset();
  calls.clear();
}

}  // namespace roomful
