#pragma once

#include <filesystem>
#include <memory>

#include "failure.h"

namespace roomful {

/** A library opened at run time; closed with its last owner. */
class SharedLibrary {
 public:
  static Outcome<SharedLibrary> open(const std::filesystem::path& path);

  /** The address of an exported symbol, null when there is none. */
  void* find(const char* symbol) const;

 private:
  explicit SharedLibrary(void* handle);
  std::shared_ptr<void> handle_;
};

/**
 * Keeps the library that holds this function in memory until the process ends: Node unloads an addon with the last
 * environment that uses it, but a thread that watches the parent goes on.
 */
void keepThisLibraryLoaded();

/** A path from UTF-8, as JavaScript gives it, on every platform. */
std::filesystem::path pathFromUtf8(const std::string& text);
std::string utf8FromPath(const std::filesystem::path& path);

}  // namespace roomful
