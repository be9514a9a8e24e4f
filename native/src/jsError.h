#pragma once

#include <napi.h>

#include "failure.h"

namespace roomful {

/** The JavaScript `Error` of a failure, with its `code`. */
Napi::Error jsError(Napi::Env env, const Failure& failure);

/** A promise that is rejected already. */
Napi::Value rejected(Napi::Env env, const Failure& failure);

/** Throws into JavaScript; the returned value is to be returned to it at once. */
Napi::Value thrown(Napi::Env env, const Failure& failure);

}  // namespace roomful
