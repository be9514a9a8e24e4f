#include "vocabularyObject.h"

#include <algorithm>

#include "addonState.h"
#include "argumentReader.h"
#include "jsError.h"

namespace roomful {

namespace {

Napi::Int32Array int32Array(Napi::Env env, const std::vector<int32_t>& values) {
  Napi::Int32Array array = Napi::Int32Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

}  // namespace

Napi::Function VocabularyObject::define(Napi::Env env) {
  return DefineClass(env, "NativeVocabulary",
                     {
                         InstanceAccessor<&VocabularyObject::size>("size", napi_enumerable),
                         InstanceAccessor<&VocabularyObject::bosToken>("bosToken", napi_enumerable),
                         InstanceAccessor<&VocabularyObject::eosToken>("eosToken", napi_enumerable),
                         InstanceAccessor<&VocabularyObject::bosText>("bosText", napi_enumerable),
                         InstanceAccessor<&VocabularyObject::eosText>("eosText", napi_enumerable),
                         InstanceAccessor<&VocabularyObject::addsBos>("addsBos", napi_enumerable),
                         InstanceMethod<&VocabularyObject::tokenize>("tokenize"),
                         InstanceMethod<&VocabularyObject::grammarProblem>("grammarProblem"),
                         InstanceMethod<&VocabularyObject::pieces>("pieces"),
                         InstanceMethod<&VocabularyObject::endTokens>("endTokens"),
                         InstanceMethod<&VocabularyObject::controlTokens>("controlTokens"),
                         InstanceMethod<&VocabularyObject::free>("free"),
                     });
}

Napi::Value VocabularyObject::load(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const LlamaApi* api = LlamaApi::opened();
  if (!api) return rejected(env, {FailureCode::LibraryMissing, "open() was not called"});
  if (!info[0].IsString()) return rejected(env, {FailureCode::BadArgument, "path must be a string"});
  AddonState& state = AddonState::of(env);
  const auto background = contained(FailureCode::LoadFailed, [&] { return state.background(); });
  if (!background.ok()) return rejected(env, background.failure());
  return state.calls.submit(
      env, *background.value(), {},
      [api, path = info[0].As<Napi::String>().Utf8Value()] { return Vocabulary::load(*api, path); },
      [](Napi::Env taskEnv, const std::shared_ptr<Vocabulary>& vocabulary) -> Outcome<Napi::Value> {
        const Napi::Object object = AddonState::of(taskEnv).vocabularyClass.New({});
        Unwrap(object)->vocabulary_ = vocabulary;
        return Napi::Value(object);
      });
}

VocabularyObject::VocabularyObject(const Napi::CallbackInfo& info) : ObjectWrap(info) {}

template <class Read>
Napi::Value VocabularyObject::with(Napi::Env env, Read read) {
  if (!vocabulary_) return thrown(env, {FailureCode::Unloaded, "the vocabulary was freed"});
  const auto value =
      contained(FailureCode::BadArgument, [&]() -> Outcome<Napi::Value> { return read(*vocabulary_); });
  return value.ok() ? value.value() : thrown(env, value.failure());
}

Napi::Value VocabularyObject::size(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& it) { return Napi::Number::New(info.Env(), it.size()); });
}

Napi::Value VocabularyObject::bosToken(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& it) { return Napi::Number::New(info.Env(), it.bosToken()); });
}

Napi::Value VocabularyObject::eosToken(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& it) { return Napi::Number::New(info.Env(), it.eosToken()); });
}

Napi::Value VocabularyObject::bosText(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& vocabulary) {
    return Napi::String::New(info.Env(), vocabulary.text(vocabulary.bosToken()));
  });
}

Napi::Value VocabularyObject::eosText(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& vocabulary) {
    return Napi::String::New(info.Env(), vocabulary.text(vocabulary.eosToken()));
  });
}

Napi::Value VocabularyObject::addsBos(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& it) { return Napi::Boolean::New(info.Env(), it.addsBos()); });
}

Napi::Value VocabularyObject::tokenize(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& vocabulary) -> Outcome<Napi::Value> {
    if (!info[0].IsString()) return Failure{FailureCode::BadArgument, "text must be a string"};
    ArgumentReader options(info[1], "options");
    const bool addSpecial = options.boolean("addSpecial");
    const bool parseSpecial = options.boolean("parseSpecial");
    if (options.failure()) return *options.failure();
    const auto tokens = vocabulary.tokenize(info[0].As<Napi::String>().Utf8Value(), addSpecial, parseSpecial);
    if (!tokens.ok()) return tokens.failure();
    return int32Array(info.Env(), tokens.value());
  });
}

Napi::Value VocabularyObject::grammarProblem(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& vocabulary) -> Outcome<Napi::Value> {
    if (!info[0].IsString()) return Failure{FailureCode::BadArgument, "grammar must be a string"};
    const Status checked = vocabulary.checkGrammar(info[0].As<Napi::String>().Utf8Value());
    if (checked.ok()) return info.Env().Null();
    return Napi::Value(Napi::String::New(info.Env(), checked.failure().message));
  });
}

Napi::Value VocabularyObject::pieces(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& vocabulary) {
    const int32_t size = vocabulary.size();
    Napi::Uint32Array offsets = Napi::Uint32Array::New(info.Env(), static_cast<size_t>(size) + 1);
    std::string text;
    for (int32_t token = 0; token < size; token++) {
      offsets[static_cast<size_t>(token)] = static_cast<uint32_t>(text.size());
      vocabulary.appendPiece(token, text);
    }
    offsets[static_cast<size_t>(size)] = static_cast<uint32_t>(text.size());
    Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), text.size());
    std::copy(text.begin(), text.end(), bytes.Data());
    Napi::Object object = Napi::Object::New(info.Env());
    object.Set("bytes", bytes);
    object.Set("offsets", offsets);
    return object;
  });
}

Napi::Value VocabularyObject::endTokens(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& it) { return int32Array(info.Env(), it.endTokens()); });
}

Napi::Value VocabularyObject::controlTokens(const Napi::CallbackInfo& info) {
  return with(info.Env(), [&](const Vocabulary& vocabulary) {
    Napi::Array tokens = Napi::Array::New(info.Env());
    std::string piece;
    for (int32_t token = 0; token < vocabulary.size(); token++) {
      piece.clear();
      vocabulary.appendPiece(token, piece);
      const std::string text = vocabulary.text(token);
      if (!piece.empty() || text.empty()) continue;
      Napi::Object entry = Napi::Object::New(info.Env());
      entry.Set("id", token);
      entry.Set("text", text);
      tokens.Set(tokens.Length(), entry);
    }
    return tokens;
  });
}

void VocabularyObject::free(const Napi::CallbackInfo&) { vocabulary_.reset(); }

}  // namespace roomful
