#pragma once

#include <napi.h>

#include <optional>
#include <span>
#include <string>

#include "failure.h"

namespace roomful {

/**
 * Reads the fields of an object from JavaScript. The first field that is not as it must be is remembered as a
 * BadArgument and defaults are given from there on, so that a reader of many fields checks once, at its end.
 */
class ArgumentReader {
 public:
  /** `what` names the object in messages. */
  ArgumentReader(const Napi::Value& value, std::string what);

  int64_t integer(const char* field, int64_t lowest, int64_t highest);
  double number(const char* field, double lowest, double highest);
  std::string text(const char* field);
  std::optional<std::string> textOrNull(const char* field);
  /** The index of the text in `choices`. */
  template <size_t N>
  size_t oneOf(const char* field, const char* const (&choices)[N]) {
    return indexOf(field, std::span(choices));
  }
  bool boolean(const char* field);
  uint64_t unsigned64(const char* field);
  bool isNull(const char* field);
  Napi::Array array(const char* field);
  Napi::Int32Array int32Array(const char* field);
  Napi::Float32Array float32Array(const char* field);
  Napi::Uint8Array bytes(const char* field);
  ArgumentReader object(const char* field);

  /** Fails the object for a reason that concerns several fields. */
  void reject(const std::string& problem);
  /** Takes over the failure of a part that was read by another reader. */
  void include(const ArgumentReader& part);
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  Napi::Value get(const char* field);
  size_t indexOf(const char* field, std::span<const char* const> choices);
  void rejectField(const char* field, const std::string& expected);

  Napi::Env env_;
  std::string what_;
  Napi::Object object_;
  std::optional<Failure> failure_;
};

/** Reads one argument that must be a whole number. */
Outcome<int64_t> readInteger(const Napi::Value& value, const std::string& what, int64_t lowest, int64_t highest);

}  // namespace roomful
