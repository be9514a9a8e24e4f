#include "computeThread.h"

namespace roomful {

bool ComputeThread::push(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (finishing_) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void ComputeThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  changed_.notify_one();
}

void ComputeThread::join() {
  finish();
  if (thread_.joinable()) thread_.join();
}

void ComputeThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return finishing_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    // What the job holds goes with the job, not while the lock is held.
    job = nullptr;
    lock.lock();
  }
}

}  // namespace roomful
