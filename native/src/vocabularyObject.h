#pragma once

#include <napi.h>

#include <memory>

#include "vocabulary.h"

namespace roomful {

/** NativeVocabulary of electron/stage/nativeAddon.ts. */
class VocabularyObject : public Napi::ObjectWrap<VocabularyObject> {
 public:
  static Napi::Function define(Napi::Env env);

  /** loadVocabulary(path) of the addon. */
  static Napi::Value load(const Napi::CallbackInfo& info);

  explicit VocabularyObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value size(const Napi::CallbackInfo& info);
  Napi::Value bosToken(const Napi::CallbackInfo& info);
  Napi::Value eosToken(const Napi::CallbackInfo& info);
  Napi::Value bosText(const Napi::CallbackInfo& info);
  Napi::Value eosText(const Napi::CallbackInfo& info);
  Napi::Value addsBos(const Napi::CallbackInfo& info);
  Napi::Value tokenize(const Napi::CallbackInfo& info);
  Napi::Value grammarProblem(const Napi::CallbackInfo& info);
  Napi::Value pieces(const Napi::CallbackInfo& info);
  Napi::Value endTokens(const Napi::CallbackInfo& info);
  Napi::Value controlTokens(const Napi::CallbackInfo& info);
  void free(const Napi::CallbackInfo& info);

  /** `read(env, vocabulary)`, or throws Unloaded after free(). */
  template <class Read>
  Napi::Value with(Napi::Env env, Read read);

  std::shared_ptr<Vocabulary> vocabulary_;
};

}  // namespace roomful
