#include "llamaApi.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "logCapture.h"

namespace roomful {

namespace {

namespace fs = std::filesystem;

#if defined(_WIN32)
constexpr const char* kExtension = ".dll";
#elif defined(__APPLE__)
constexpr const char* kExtension = ".dylib";
#else
constexpr const char* kExtension = ".so";
#endif

/** The first dotted part of a library's name without `lib`: `llama` for `libllama.vulkan.v0.4.0.so`. */
std::string baseName(const fs::path& file) {
  std::string name = utf8FromPath(file.filename());
  if (name.rfind("lib", 0) == 0) name.erase(0, 3);
  return name.substr(0, name.find('.'));
}

Outcome<SharedLibrary> openByBaseName(const fs::path& folder, const std::string& wanted) {
  std::vector<fs::path> matches;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == kExtension && baseName(path) == wanted) matches.push_back(path);
  }
  if (error) {
    return Failure{FailureCode::LibraryMissing, "'" + utf8FromPath(folder) + "' could not be read: " + error.message()};
  }
  if (matches.empty()) {
    return Failure{FailureCode::LibraryMissing,
                   "no library '" + wanted + "' (" + kExtension + ") in '" + utf8FromPath(folder) + "'"};
  }
  return SharedLibrary::open(*std::min_element(matches.begin(), matches.end()));
}

template <class Function>
void resolve(const SharedLibrary& library, const char* name, Function& into, std::string& missing) {
  into = reinterpret_cast<Function>(library.find(name));
  if (!into && missing.empty()) missing = name;
}

struct Opened {
  std::vector<SharedLibrary> libraries;
  LlamaApi api;
  fs::path folder;
};

std::mutex& openMutex() {
  static std::mutex mutex;
  return mutex;
}

/** Never destroyed: threads of the backends may outlive the statics of this addon. */
std::optional<Opened>& slot() {
  static auto& opened = *std::make_unique<std::optional<Opened>>().release();
  return opened;
}

Outcome<Opened> load(const fs::path& folder) {
  Outcome<SharedLibrary> base = openByBaseName(folder, "ggml-base");
  if (!base.ok()) return base.failure();
  Outcome<SharedLibrary> ggml = openByBaseName(folder, "ggml");
  if (!ggml.ok()) return ggml.failure();
  Outcome<SharedLibrary> llama = openByBaseName(folder, "llama");
  if (!llama.ok()) return llama.failure();

  LlamaApi api;
  std::string missing;
#define ROOMFUL_RESOLVE(name) resolve(library, #name, api.name, missing);
  {
    const SharedLibrary& library = llama.value();
    ROOMFUL_LLAMA_SYMBOLS(ROOMFUL_RESOLVE)
  }
  {
    const SharedLibrary& library = ggml.value();
    ROOMFUL_GGML_SYMBOLS(ROOMFUL_RESOLVE)
  }
  {
    const SharedLibrary& library = base.value();
    ROOMFUL_GGML_BASE_SYMBOLS(ROOMFUL_RESOLVE)
  }
#undef ROOMFUL_RESOLVE
  if (!missing.empty()) {
    return Failure{FailureCode::LibraryMissing, "the libraries in '" + utf8FromPath(folder) + "' lack '" + missing +
                                                    "': they are not of the release that this program was built for"};
  }
  return Opened{{base.value(), ggml.value(), llama.value()}, api, folder};
}

}  // namespace

Outcome<const LlamaApi*> LlamaApi::open(const fs::path& folder, const std::optional<fs::path>& fallback) {
  const std::lock_guard lock(openMutex());
  std::optional<Opened>& opened = slot();
  if (opened) {
    if (opened->folder == folder) return &opened->api;
    return Failure{FailureCode::BadArgument,
                   "this process already uses the libraries in '" + utf8FromPath(opened->folder) + "'"};
  }
  return contained(FailureCode::LibraryMissing, [&]() -> Outcome<const LlamaApi*> {
    Outcome<Opened> loaded = load(folder);
    if (!loaded.ok()) return loaded.failure();
    const LlamaApi& api = loaded.value().api;

    LogCapture log;
    api.llama_log_set(LogCapture::receive, nullptr);
    api.ggml_log_set(LogCapture::receive, nullptr);
    api.ggml_backend_load_all_from_path(utf8FromPath(folder).c_str());
    if (!api.ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)) {
      return Failure{FailureCode::LibraryMissing,
                     log.explain("no ggml backend for this processor in '" + utf8FromPath(folder) + "'")};
    }
    const bool hasDevice = api.ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) ||
                           api.ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
    if (!hasDevice && fallback) api.ggml_backend_load_all_from_path(utf8FromPath(*fallback).c_str());
    api.llama_backend_init();
    opened.emplace(std::move(loaded.value()));
    return &opened->api;
  });
}

const LlamaApi* LlamaApi::opened() {
  const std::lock_guard lock(openMutex());
  const std::optional<Opened>& opened = slot();
  return opened ? &opened->api : nullptr;
}

}  // namespace roomful
