#include <napi.h>

#include <chrono>

#include "addonState.h"
#include "argumentReader.h"
#include "devices.h"
#include "jsError.h"
#include "parentWatch.h"
#include "readSpeed.h"
#include "sharedLibrary.h"
#include "stageObject.h"
#include "vocabularyObject.h"

namespace roomful {

namespace {

Napi::Value open(const Napi::CallbackInfo& info) {
  if (!info[0].IsString()) return thrown(info.Env(), {FailureCode::BadArgument, "librariesFolder must be a string"});
  std::optional<std::filesystem::path> fallback;
  if (info[1].IsString()) fallback = pathFromUtf8(info[1].As<Napi::String>().Utf8Value());
  const auto opened = LlamaApi::open(pathFromUtf8(info[0].As<Napi::String>().Utf8Value()), fallback);
  return opened.ok() ? info.Env().Undefined() : thrown(info.Env(), opened.failure());
}

Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const LlamaApi* api = LlamaApi::opened();
  if (!api) return thrown(env, {FailureCode::LibraryMissing, "open() was not called"});
  using Devices = Outcome<std::vector<Device>>;
  const auto found = contained(FailureCode::LoadFailed, [&]() -> Devices { return listDevices(*api); });
  if (!found.ok()) return thrown(env, found.failure());
  Napi::Array array = Napi::Array::New(env, found.value().size());
  for (uint32_t i = 0; i < found.value().size(); i++) {
    const Device& device = found.value()[i];
    Napi::Object object = Napi::Object::New(env);
    object.Set("name", device.name);
    object.Set("description", device.description);
    object.Set("backend", device.backend);
    if (device.pciAddress.empty()) object.Set("pciAddress", env.Null());
    else object.Set("pciAddress", device.pciAddress);
    object.Set("kind", device.kind);
    object.Set("totalBytes", static_cast<double>(device.totalBytes));
    object.Set("freeBytes", static_cast<double>(device.freeBytes));
    array.Set(i, object);
  }
  return array;
}

Napi::Value readSpeed(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const LlamaApi* api = LlamaApi::opened();
  if (!api) return rejected(env, {FailureCode::LibraryMissing, "open() was not called"});
  ArgumentReader options(info[0], "options");
  const std::string device = options.text("device");
  const auto threads = static_cast<int32_t>(options.integer("threads", 1, 512));
  const std::chrono::milliseconds budget(options.integer("budgetMs", 1, 60'000));
  if (options.failure()) return rejected(env, *options.failure());
  AddonState& state = AddonState::of(env);
  const auto background = contained(FailureCode::LoadFailed, [&] { return state.background(); });
  if (!background.ok()) return rejected(env, background.failure());
  return state.calls.submit(
      env, *background.value(), {},
      [api, device, threads, budget] { return measureReadSpeed(*api, device, threads, budget); },
      [](Napi::Env taskEnv, double bytesPerSecond) -> Outcome<Napi::Value> {
        return Napi::Value(Napi::Number::New(taskEnv, bytesPerSecond));
      });
}

Napi::Value watchParent(const Napi::CallbackInfo& info) {
  const Outcome<int64_t> parent = readInteger(info[0], "parentPid", 1, UINT32_MAX);
  if (!parent.ok()) return thrown(info.Env(), parent.failure());
  exitWithParent(parent.value());
  return info.Env().Undefined();
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  keepThisLibraryLoaded();
  auto state = std::make_unique<AddonState>(env);
  state->stageClass = Napi::Persistent(StageObject::define(env));
  state->vocabularyClass = Napi::Persistent(VocabularyObject::define(env));
  AddonState* const owned = state.get();
  env.SetInstanceData(state.release());
  // After the state's own hook for its thread-safe function: hooks run last in, first out.
  env.AddCleanupHook([owned] { owned->close(); });
  // process.exit() in the main thread runs no such hooks.
  const Napi::Object process = env.Global().Get("process").As<Napi::Object>();
  const auto close = [owned](const Napi::CallbackInfo&) { owned->close(); };
  process.Get("once").As<Napi::Function>().Call(
      process, {Napi::String::New(env, "exit"), Napi::Function::New(env, close, "closeRoomful")});

  exports.Set("open", Napi::Function::New<open>(env, "open"));
  exports.Set("devices", Napi::Function::New<devices>(env, "devices"));
  exports.Set("readSpeed", Napi::Function::New<readSpeed>(env, "readSpeed"));
  exports.Set("loadStage", Napi::Function::New<&StageObject::load>(env, "loadStage"));
  exports.Set("loadVocabulary", Napi::Function::New<&VocabularyObject::load>(env, "loadVocabulary"));
  exports.Set("exitWithParent", Napi::Function::New<watchParent>(env, "exitWithParent"));
  return exports;
}

}  // namespace

}  // namespace roomful

using roomful::initialize;
NODE_API_MODULE(roomful, initialize)
