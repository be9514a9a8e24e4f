#include "sharedLibrary.h"

#ifdef _WIN32
#include <windows.h>

#include <system_error>
#else
#include <dlfcn.h>
#endif

namespace roomful {

namespace {

void closeHandle(void* handle) {
#ifdef _WIN32
  FreeLibrary(static_cast<HMODULE>(handle));
#else
  dlclose(handle);
#endif
}

std::string lastError() {
#ifdef _WIN32
  return std::system_category().message(static_cast<int>(GetLastError()));
#else
  const char* text = dlerror();
  return text ? text : "unknown error";
#endif
}

}  // namespace

SharedLibrary::SharedLibrary(void* handle) : handle_(handle, closeHandle) {}

Outcome<SharedLibrary> SharedLibrary::open(const std::filesystem::path& path) {
#ifdef _WIN32
  // The siblings of the library (ggml, the CUDA runtime) lie in its own folder, where Windows does not look by default.
  constexpr DWORD kSearch = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
  void* handle = LoadLibraryExW(path.c_str(), nullptr, kSearch);
#else
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
#endif
  if (!handle) {
    return Failure{FailureCode::LibraryMissing, "'" + utf8FromPath(path) + "' could not be opened: " + lastError()};
  }
  return SharedLibrary(handle);
}

void* SharedLibrary::find(const char* symbol) const {
#ifdef _WIN32
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_.get()), symbol));
#else
  return dlsym(handle_.get(), symbol);
#endif
}

void keepThisLibraryLoaded() {
#ifdef _WIN32
  HMODULE self = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<LPCWSTR>(&keepThisLibraryLoaded), &self);
#else
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&keepThisLibraryLoaded), &self) == 0) return;
  dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

std::filesystem::path pathFromUtf8(const std::string& text) {
  return std::filesystem::path(std::u8string(text.begin(), text.end()));
}

std::string utf8FromPath(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
}

}  // namespace roomful
