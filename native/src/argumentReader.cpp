#include "argumentReader.h"

#include <cmath>

namespace roomful {

namespace {

std::string rangeText(double lowest, double highest) {
  const auto text = [](double value) {
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits;
  };
  return "from " + text(lowest) + " to " + text(highest);
}

}  // namespace

Outcome<int64_t> readInteger(const Napi::Value& value, const std::string& what, int64_t lowest, int64_t highest) {
  // Every limit in use is far below 2^53, so the comparison as doubles is exact.
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (std::trunc(number) != number || number < static_cast<double>(lowest) || number > static_cast<double>(highest)) {
    return Failure{FailureCode::BadArgument, what + " must be a whole number " +
                                                 rangeText(static_cast<double>(lowest), static_cast<double>(highest))};
  }
  return static_cast<int64_t>(number);
}

ArgumentReader::ArgumentReader(const Napi::Value& value, std::string what) : env_(value.Env()), what_(std::move(what)) {
  if (value.IsObject()) object_ = value.As<Napi::Object>();
  else reject("must be an object");
}

Napi::Value ArgumentReader::get(const char* field) {
  if (failure_) return env_.Undefined();
  const Napi::Value value = object_.Get(field);
  if (!env_.IsExceptionPending()) return value;
  env_.GetAndClearPendingException();
  rejectField(field, "could not be read");
  return env_.Undefined();
}

int64_t ArgumentReader::integer(const char* field, int64_t lowest, int64_t highest) {
  const Napi::Value value = get(field);
  if (failure_) return lowest;
  const Outcome<int64_t> number = readInteger(value, what_ + "." + field, lowest, highest);
  if (number.ok()) return number.value();
  failure_ = number.failure();
  return lowest;
}

double ArgumentReader::number(const char* field, double lowest, double highest) {
  const Napi::Value value = get(field);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (number >= lowest && number <= highest) return number;
  rejectField(field, "must be a number " + rangeText(lowest, highest));
  return lowest;
}

std::string ArgumentReader::text(const char* field) {
  const Napi::Value value = get(field);
  if (value.IsString()) return value.As<Napi::String>().Utf8Value();
  rejectField(field, "must be a string");
  return "";
}

std::optional<std::string> ArgumentReader::textOrNull(const char* field) {
  if (isNull(field)) return std::nullopt;
  return text(field);
}

size_t ArgumentReader::indexOf(const char* field, std::span<const char* const> choices) {
  const Napi::Value value = get(field);
  const std::string text = value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
  std::string expected;
  for (size_t i = 0; i < choices.size(); i++) {
    if (text == choices[i]) return i;
    expected += (i == 0 ? "'" : "', '") + std::string(choices[i]);
  }
  rejectField(field, "must be one of " + expected + "'");
  return 0;
}

bool ArgumentReader::boolean(const char* field) {
  const Napi::Value value = get(field);
  if (value.IsBoolean()) return value.As<Napi::Boolean>().Value();
  rejectField(field, "must be true or false");
  return false;
}

uint64_t ArgumentReader::unsigned64(const char* field) {
  const Napi::Value value = get(field);
  if (value.IsBigInt()) {
    bool lossless = false;
    const uint64_t number = value.As<Napi::BigInt>().Uint64Value(&lossless);
    if (lossless) return number;
  }
  rejectField(field, "must be a bigint of 64 bits without sign");
  return 0;
}

bool ArgumentReader::isNull(const char* field) {
  const Napi::Value value = get(field);
  return value.IsNull() || value.IsUndefined();
}

Napi::Array ArgumentReader::array(const char* field) {
  const Napi::Value value = get(field);
  if (value.IsArray()) return value.As<Napi::Array>();
  rejectField(field, "must be an array");
  return Napi::Array::New(env_);
}

Napi::Int32Array ArgumentReader::int32Array(const char* field) {
  const Napi::Value value = get(field);
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_int32_array) {
    return value.As<Napi::Int32Array>();
  }
  rejectField(field, "must be an Int32Array");
  return Napi::Int32Array::New(env_, 0);
}

Napi::Float32Array ArgumentReader::float32Array(const char* field) {
  const Napi::Value value = get(field);
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array) {
    return value.As<Napi::Float32Array>();
  }
  rejectField(field, "must be a Float32Array");
  return Napi::Float32Array::New(env_, 0);
}

Napi::Uint8Array ArgumentReader::bytes(const char* field) {
  const Napi::Value value = get(field);
  if (value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array) {
    return value.As<Napi::Uint8Array>();
  }
  rejectField(field, "must be a Uint8Array");
  return Napi::Uint8Array::New(env_, 0);
}

ArgumentReader ArgumentReader::object(const char* field) { return ArgumentReader(get(field), what_ + "." + field); }

void ArgumentReader::reject(const std::string& problem) {
  if (!failure_) failure_ = Failure{FailureCode::BadArgument, what_ + " " + problem};
}

void ArgumentReader::rejectField(const char* field, const std::string& expected) {
  if (!failure_) failure_ = Failure{FailureCode::BadArgument, what_ + "." + field + " " + expected};
}

void ArgumentReader::include(const ArgumentReader& part) {
  if (!failure_) failure_ = part.failure_;
}

}  // namespace roomful
