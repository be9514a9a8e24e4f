#include "jsLoop.h"

namespace roomful {

JsLoop::JsLoop(Napi::Env env) : function_(Function::New(env, "roomful", 0, 1, this)) { function_.Unref(env); }

void JsLoop::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) function_.NonBlockingCall();
}

void JsLoop::hold(Napi::Env env) {
  if (holds_++ == 0) function_.Ref(env);
}

void JsLoop::release(Napi::Env env) {
  if (--holds_ == 0) function_.Unref(env);
}

void JsLoop::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  tasks_.clear();
}

void JsLoop::drain(Napi::Env env, Napi::Function, JsLoop* loop, void*) {
  // Without an environment this is its end, after close(): the loop may be gone.
  if (!env) return;
  std::deque<Task> tasks;
  {
    const std::lock_guard lock(loop->mutex_);
    tasks.swap(loop->tasks_);
  }
  for (Task& task : tasks) {
    const Napi::HandleScope scope(env);
    task(env);
    // A callback of the application threw; it is reported as any uncaught exception, and the other tasks still run.
    if (env.IsExceptionPending()) napi_fatal_exception(env, env.GetAndClearPendingException().Value());
  }
}

}  // namespace roomful
