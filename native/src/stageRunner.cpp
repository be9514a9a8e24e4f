#include "stageRunner.h"

namespace roomful {

Outcome<const Stage*> StageRunner::load(const LlamaApi& api, const StageOptions& options,
                                        const std::function<void(float)>& report) {
  const auto progress = [&](float fraction) {
    if (abandoned_) return false;
    report(fraction);
    return true;
  };
  const auto isCancelled = [this] { return cancellations_ != runningTicket_; };
  auto loaded = contained(FailureCode::LoadFailed, [&] { return Stage::load(api, options, progress, isCancelled); });
  if (!loaded.ok()) {
    end();
    return loaded.failure();
  }
  stage_ = std::move(loaded.value());
  return stage_.get();
}

Outcome<Stage*> StageRunner::stage() {
  if (!stage_) return Failure{FailureCode::Unloaded, "the stage was unloaded"};
  return stage_.get();
}

Outcome<StepResult> StageRunner::decode(Step& step, uint64_t ticket) {
  Outcome<Stage*> loaded = stage();
  if (!loaded.ok()) return loaded.failure();
  runningTicket_ = ticket;
  if (cancellations_ != ticket) return Failure{FailureCode::Cancelled, "the step was cancelled"};
  return loaded.value()->decode(step);
}

void StageRunner::end() {
  stage_.reset();
  thread_.finish();
  ended_(this);
}

void StageRunner::endLater() {
  thread_.push([this] { end(); });
}

Status StageRunner::keep() {
  if (!abandoned_) return Nothing{};
  endLater();
  return Failure{FailureCode::Cancelled, "the load was cancelled"};
}

void StageRunner::abandon() {
  abandoned_ = true;
  cancel();
}

void StageRunner::close() {
  abandon();
  thread_.join();
  stage_.reset();
}

}  // namespace roomful
