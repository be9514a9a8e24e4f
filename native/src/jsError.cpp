#include "jsError.h"

namespace roomful {

Napi::Error jsError(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.message);
  error.Set("code", Napi::String::New(env, nameOf(failure.code)));
  return error;
}

Napi::Value rejected(Napi::Env env, const Failure& failure) {
  const Napi::Promise::Deferred deferred(env);
  deferred.Reject(jsError(env, failure).Value());
  return deferred.Promise();
}

Napi::Value thrown(Napi::Env env, const Failure& failure) {
  jsError(env, failure).ThrowAsJavaScriptException();
  return env.Undefined();
}

}  // namespace roomful
