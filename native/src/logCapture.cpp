#include "logCapture.h"

#include <exception>

namespace roomful {

namespace {

thread_local LogCapture* innermost = nullptr;

/** Loading a model logs a few hundred lines; more than this would be a flood. */
constexpr size_t kMostLines = 4096;

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \r\n") - first + 1);
}

}  // namespace

LogCapture::LogCapture() : outer_(innermost) { innermost = this; }

LogCapture::~LogCapture() { innermost = outer_; }

void LogCapture::receive(ggml_log_level level, const char* text, void*) {
  if (!innermost || !text) return;
  try {
    innermost->append(level, text);
  } catch (const std::exception&) {
    // Out of memory while logging: C code is the caller, and the line is worth less than the process.
  }
}

void LogCapture::append(ggml_log_level level, const std::string& text) {
  if (level != GGML_LOG_LEVEL_CONT) level_ = level;
  if (level_ == GGML_LOG_LEVEL_DEBUG) return;
  const std::string line = trimmed(text);
  if (line.empty()) return;
  if (level == GGML_LOG_LEVEL_ERROR && firstError_.empty()) firstError_ = line;
  if (lines_.size() >= kMostLines) lines_.erase(lines_.begin(), lines_.begin() + kMostLines / 2);
  lines_.push_back(line);
}

std::string LogCapture::explain(const std::string& summary) const {
  return firstError_.empty() ? summary : summary + ": " + firstError_;
}

}  // namespace roomful
