#pragma once

#include <exception>
#include <string>
#include <utility>
#include <variant>

namespace roomful {

enum class FailureCode { LoadFailed, DecodeFailed, Cancelled, Unloaded, BadArgument, LibraryMissing };

/** An error as a value: its code is the `code` of the JavaScript error that it becomes at the boundary. */
struct Failure {
  FailureCode code;
  std::string message;
};

/** A value or the reason why there is none. */
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

struct Nothing {};
using Status = Outcome<Nothing>;

/** Runs `work` and turns an exception of llama.cpp or of the standard library into a Failure. */
template <class Work>
auto contained(FailureCode code, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    return Failure{code, error.what()};
  } catch (...) {
    return Failure{code, "an unknown exception was thrown"};
  }
}

inline const char* nameOf(FailureCode code) {
  switch (code) {
    case FailureCode::LoadFailed: return "LoadFailed";
    case FailureCode::DecodeFailed: return "DecodeFailed";
    case FailureCode::Cancelled: return "Cancelled";
    case FailureCode::Unloaded: return "Unloaded";
    case FailureCode::BadArgument: return "BadArgument";
    case FailureCode::LibraryMissing: return "LibraryMissing";
  }
  return "BadArgument";
}

}  // namespace roomful
