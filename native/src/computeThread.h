#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace roomful {

/** A thread that runs jobs in the order in which they were pushed. */
class ComputeThread {
 public:
  using Job = std::function<void()>;

  ComputeThread() : thread_([this] { run(); }) {}
  ~ComputeThread() { join(); }
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  /** False once finish() was called; the job is dropped then. Jobs must not throw. */
  bool push(Job job);
  /** Takes no more jobs; the thread ends after those that it has. Does not wait. */
  void finish();
  /** finish(), and waits until the thread has ended. Not from the thread itself. */
  void join();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool finishing_ = false;
  // Last: it starts when all of the above exists.
  std::thread thread_;
};

}  // namespace roomful
