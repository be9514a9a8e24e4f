#pragma once

#include <napi.h>

#include <deque>
#include <functional>
#include <mutex>

namespace roomful {

/** The JavaScript thread of one environment, for other threads to hand tasks to. */
class JsLoop {
 public:
  using Task = std::function<void(Napi::Env)>;

  explicit JsLoop(Napi::Env env);
  JsLoop(const JsLoop&) = delete;
  JsLoop& operator=(const JsLoop&) = delete;

  /** From any thread: runs the task on the JavaScript thread, in order. Never blocks. */
  void post(Task task);

  /** On the JavaScript thread: while held more often than released, the process does not exit by itself. */
  void hold(Napi::Env env);
  void release(Napi::Env env);

  /** On the JavaScript thread: drops the tasks that are left; those posted later never run. */
  void close();

 private:
  static void drain(Napi::Env env, Napi::Function, JsLoop* loop, void*);
  using Function = Napi::TypedThreadSafeFunction<JsLoop, void, drain>;

  Function function_;
  size_t holds_ = 0;
  std::mutex mutex_;
  std::deque<Task> tasks_;
  bool closed_ = false;
};

}  // namespace roomful
