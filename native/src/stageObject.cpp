#include "stageObject.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "addonState.h"
#include "argumentReader.h"
#include "jsError.h"

namespace roomful {

namespace {

constexpr int64_t kLastPosition = 1 << 30;

Failure unloaded() { return {FailureCode::Unloaded, "the stage was unloaded"}; }

Outcome<Napi::Value> undefinedOf(Napi::Env env, const Nothing&) { return env.Undefined(); }

Napi::Value numberOrNull(Napi::Env env, const std::optional<float>& number) {
  if (!number) return env.Null();
  return Napi::Number::New(env, *number);
}

Napi::Array logprobObjects(Napi::Env env, const std::vector<TokenLogprob>& logprobs) {
  Napi::Array array = Napi::Array::New(env, logprobs.size());
  for (uint32_t i = 0; i < logprobs.size(); i++) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("token", logprobs[i].token);
    entry.Set("logprob", static_cast<double>(logprobs[i].logprob));
    array.Set(i, entry);
  }
  return array;
}

Outcome<Napi::Value> resultObject(Napi::Env env, const StepResult& result) {
  Napi::Object object = Napi::Object::New(env);
  if (result.format) object.Set("format", *result.format == ActivationFormat::F16 ? "f16" : "f32");
  else object.Set("format", env.Null());
  object.Set("byteLength", static_cast<double>(result.byteLength));
  Napi::Array sampled = Napi::Array::New(env, result.sampled.size());
  for (uint32_t i = 0; i < result.sampled.size(); i++) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("slot", result.sampled[i].slot);
    entry.Set("position", result.sampled[i].position);
    entry.Set("token", result.sampled[i].token);
    entry.Set("logprob", numberOrNull(env, result.sampled[i].logprob));
    entry.Set("top", logprobObjects(env, result.sampled[i].top));
    sampled.Set(i, entry);
  }
  object.Set("sampled", sampled);
  Napi::Array failures = Napi::Array::New(env, result.failures.size());
  for (uint32_t i = 0; i < result.failures.size(); i++) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("slot", result.failures[i].slot);
    entry.Set("message", result.failures[i].message);
    failures.Set(i, entry);
  }
  object.Set("failures", failures);
  Napi::Array hidden = Napi::Array::New(env, result.hidden.size());
  for (uint32_t i = 0; i < result.hidden.size(); i++) {
    const std::vector<float>& values = result.hidden[i].values;
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("slot", result.hidden[i].slot);
    Napi::Float32Array given = Napi::Float32Array::New(env, values.size());
    std::copy(values.begin(), values.end(), given.Data());
    entry.Set("values", given);
    hidden.Set(i, entry);
  }
  object.Set("hidden", hidden);
  object.Set("dropped", static_cast<double>(result.dropped));
  object.Set("computeMs", result.computeMs);
  return Napi::Value(object);
}

/** What a load under way needs of JavaScript. */
class LoadCall {
 public:
  Napi::FunctionReference onProgress;

  void attach(const Napi::Object& abortSignal, const Napi::Function& listener) {
    signal = Napi::Persistent(abortSignal);
    onAbort = Napi::Persistent(listener);
    callSignal("addEventListener");
  }

  void detach() const {
    if (!signal.IsEmpty()) callSignal("removeEventListener");
  }

 private:
  void callSignal(const char* method) const {
    const Napi::Value function = signal.Value().Get(method);
    if (!function.IsFunction()) return;
    function.As<Napi::Function>().Call(signal.Value(), {Napi::String::New(signal.Env(), "abort"), onAbort.Value()});
  }

  Napi::ObjectReference signal;
  Napi::FunctionReference onAbort;
};

}  // namespace

Napi::Function StageObject::define(Napi::Env env) {
  return DefineClass(env, "NativeStage",
                     {
                         InstanceAccessor<&StageObject::embeddingLength>("embeddingLength", napi_enumerable),
                         InstanceAccessor<&StageObject::vocabularySize>("vocabularySize", napi_enumerable),
                         InstanceMethod<&StageObject::decode>("decode"),
                         InstanceMethod<&StageObject::closeSlot>("closeSlot"),
                         InstanceMethod<&StageObject::truncate>("truncate"),
                         InstanceMethod<&StageObject::copyPrefix>("copyPrefix"),
                         InstanceMethod<&StageObject::cancel>("cancel"),
                         InstanceMethod<&StageObject::memory>("memory"),
                         InstanceMethod<&StageObject::unload>("unload"),
                     });
}

Napi::Value StageObject::load(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const LlamaApi* api = LlamaApi::opened();
  if (!api) return rejected(env, {FailureCode::LibraryMissing, "open() was not called"});
  Outcome<StageOptions> options =
      contained(FailureCode::BadArgument, [&] { return readStageOptions(*api, info[0]); });
  if (!options.ok()) return rejected(env, options.failure());
  if (!info[1].IsFunction()) return rejected(env, {FailureCode::BadArgument, "onProgress must be a function"});

  const bool hasSignal = !info[2].IsUndefined();
  if (hasSignal) {
    ArgumentReader signal(info[2], "signal");
    if (signal.boolean("aborted")) {
      return rejected(env, {FailureCode::Cancelled, "loading '" + options.value().path + "' was cancelled"});
    }
    if (signal.failure()) return rejected(env, *signal.failure());
  }

  AddonState& state = AddonState::of(env);
  const auto started = contained(FailureCode::LoadFailed, [&] { return state.startRunner(); });
  if (!started.ok()) return rejected(env, started.failure());
  const std::shared_ptr<StageRunner>& runner = started.value();
  auto call = std::make_shared<LoadCall>();
  call->onProgress = Napi::Persistent(info[1].As<Napi::Function>());
  if (hasSignal) {
    const auto abandon = [weak = std::weak_ptr(runner)](const Napi::CallbackInfo&) {
      if (const auto aborted = weak.lock()) aborted->abandon();
    };
    call->attach(info[2].As<Napi::Object>(), Napi::Function::New(env, abandon));
  }

  // Everything of JavaScript in `call` is touched and freed on its thread: the job knows it as a plain pointer, and
  // `settled`, which runs after every report of progress, is its last owner.
  LoadCall* const reports = call.get();
  const auto report = [&loop = state.loop, reports, percent = -1](float fraction) mutable {
    const int now = static_cast<int>(std::floor(fraction * 100));
    if (now <= percent) return;
    percent = now;
    loop.post([reports, fraction](Napi::Env taskEnv) {
      reports->onProgress.Call({Napi::Number::New(taskEnv, fraction)});
    });
  };
  return state.calls.submit(
      env, runner->thread(), {},
      [api, runner = runner.get(), options = options.value(), report]() -> Outcome<Loaded> {
        const Outcome<const Stage*> stage = runner->load(*api, options, report);
        if (!stage.ok()) return stage.failure();
        const Stage& loaded = *stage.value();
        const StepLimits limits{options.role, options.slots, loaded.embeddingLength()};
        return Loaded{nullptr, limits, loaded.vocabularySize(), loaded.memory()};
      },
      [weak = std::weak_ptr(runner)](Napi::Env taskEnv, Loaded& loaded) -> Outcome<Napi::Value> {
        loaded.runner = weak.lock();
        // Aborted between the end of the load and now.
        if (Status kept = loaded.runner->keep(); !kept.ok()) return kept.failure();
        const Napi::Object object = AddonState::of(taskEnv).stageClass.New({});
        Unwrap(object)->loaded_ = loaded;
        return Napi::Value(object);
      },
      [call](Napi::Env) { call->detach(); });
}

StageObject::StageObject(const Napi::CallbackInfo& info) : ObjectWrap(info) {}

StageObject::~StageObject() {
  if (!isLoaded()) return;
  loaded_->runner->endLater();
}

Napi::Value StageObject::embeddingLength(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), loaded_ ? loaded_->limits.columns : 0);
}

Napi::Value StageObject::vocabularySize(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), loaded_ ? loaded_->vocabularySize : 0);
}

template <class Work, class Convert>
Napi::Value StageObject::queue(Napi::Env env, std::vector<Napi::Object> inUse, Work work, Convert convert) {
  return AddonState::of(env).calls.submit(env, loaded_->runner->thread(), std::move(inUse), std::move(work),
                                          std::move(convert));
}

template <class Work>
Napi::Value StageObject::bookkeep(Napi::Env env, Work work) {
  const auto onStage = [runner = loaded_->runner.get(), work]() -> Status {
    Outcome<Stage*> stage = runner->stage();
    if (!stage.ok()) return stage.failure();
    return work(*stage.value());
  };
  return queue(env, {}, onStage, undefinedOf);
}

Outcome<int32_t> StageObject::readSlot(const Napi::Value& value, const char* what) const {
  if (!isLoaded()) return unloaded();
  const Outcome<int64_t> slot = readInteger(value, what, 0, loaded_->limits.slots - 1);
  if (!slot.ok()) return slot.failure();
  return static_cast<int32_t>(slot.value());
}

Napi::Value StageObject::decode(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!isLoaded()) return rejected(env, unloaded());
  Outcome<ReadStep> read = contained(FailureCode::BadArgument, [&] { return readStep(info[0], loaded_->limits); });
  if (!read.ok()) return rejected(env, read.failure());
  StageRunner* const runner = loaded_->runner.get();
  const auto work = [runner, step = std::move(read.value().step), ticket = runner->ticket()]() mutable {
    return runner->decode(step, ticket);
  };
  return queue(env, std::move(read.value().inUse), work, resultObject);
}

Napi::Value StageObject::closeSlot(const Napi::CallbackInfo& info) {
  const Outcome<int32_t> slot = readSlot(info[0], "slot");
  if (!slot.ok()) return rejected(info.Env(), slot.failure());
  return bookkeep(info.Env(), [slot = slot.value()](Stage& stage) { return stage.closeSlot(slot); });
}

Napi::Value StageObject::truncate(const Napi::CallbackInfo& info) {
  const Outcome<int32_t> slot = readSlot(info[0], "slot");
  if (!slot.ok()) return rejected(info.Env(), slot.failure());
  const Outcome<int64_t> position = readInteger(info[1], "position", 0, kLastPosition);
  if (!position.ok()) return rejected(info.Env(), position.failure());
  return bookkeep(info.Env(), [slot = slot.value(), position = static_cast<int32_t>(position.value())](Stage& stage) {
    return stage.truncate(slot, position);
  });
}

Napi::Value StageObject::copyPrefix(const Napi::CallbackInfo& info) {
  const Outcome<int32_t> from = readSlot(info[0], "fromSlot");
  if (!from.ok()) return rejected(info.Env(), from.failure());
  const Outcome<int32_t> to = readSlot(info[1], "toSlot");
  if (!to.ok()) return rejected(info.Env(), to.failure());
  if (from.value() == to.value()) {
    return rejected(info.Env(), {FailureCode::BadArgument, "fromSlot and toSlot must be different slots"});
  }
  const Outcome<int64_t> length = readInteger(info[2], "length", 0, kLastPosition);
  if (!length.ok()) return rejected(info.Env(), length.failure());
  return bookkeep(info.Env(), [from = from.value(), to = to.value(),
                               length = static_cast<int32_t>(length.value())](Stage& stage) {
    return stage.copyPrefix(from, to, length);
  });
}

void StageObject::cancel(const Napi::CallbackInfo&) {
  if (isLoaded()) loaded_->runner->cancel();
}

Napi::Value StageObject::memory(const Napi::CallbackInfo& info) {
  if (!isLoaded()) return thrown(info.Env(), unloaded());
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("weightBytes", static_cast<double>(loaded_->memory.weightBytes));
  object.Set("kvBytes", static_cast<double>(loaded_->memory.kvBytes));
  object.Set("computeBytes", static_cast<double>(loaded_->memory.computeBytes));
  return object;
}

Napi::Value StageObject::unload(const Napi::CallbackInfo& info) {
  if (!isLoaded()) return rejected(info.Env(), unloaded());
  unloading_ = true;
  const auto work = [runner = loaded_->runner.get()]() -> Status {
    runner->end();
    return Nothing{};
  };
  return queue(info.Env(), {}, work, undefinedOf);
}

}  // namespace roomful
