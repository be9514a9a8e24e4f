#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "computeThread.h"
#include "stage.h"

namespace roomful {

/**
 * One stage on its own thread. Work is pushed to thread() and reaches the stage through stage(); cancellation comes
 * from anywhere.
 */
class StageRunner {
 public:
  /** `ended` is called on the thread as the last thing that it does. */
  explicit StageRunner(std::function<void(StageRunner*)> ended) : ended_(std::move(ended)) {}
  ~StageRunner() { close(); }
  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  ComputeThread& thread() { return thread_; }

  /** On the thread: loads the stage, or ends the runner when that fails. `report` is told the loaded fraction. */
  Outcome<const Stage*> load(const LlamaApi& api, const StageOptions& options,
                             const std::function<void(float)>& report);
  /** On the thread: the stage, or Unloaded. */
  Outcome<Stage*> stage();
  /** On the thread: decodes unless cancel() was called since `ticket` was given out. */
  Outcome<StepResult> decode(Step& step, uint64_t ticket);
  /** On the thread: frees the stage and lets the thread end. */
  void end();

  /** From any thread: end() after what is queued. */
  void endLater();
  /** After load(): Cancelled, and on the way to its end, when it was abandoned meanwhile. */
  Status keep();

  /** The ticket of a step that is about to be pushed. */
  uint64_t ticket() const { return cancellations_; }
  /** From any thread: the running step and those with older tickets fail with Cancelled. */
  void cancel() { cancellations_++; }
  /** From any thread: cancel(), and a load under way as well. */
  void abandon();
  /** From any thread but its own: abandon(), and waits until all is freed. */
  void close();

 private:
  const std::function<void(StageRunner*)> ended_;
  std::atomic<bool> abandoned_ = false;
  std::atomic<uint64_t> cancellations_ = 0;
  std::atomic<uint64_t> runningTicket_ = 0;
  std::unique_ptr<Stage> stage_;
  // Last: it starts when all of the above exists, and has ended before any of it goes.
  ComputeThread thread_;
};

}  // namespace roomful
