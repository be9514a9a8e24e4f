#pragma once

#include <string>
#include <vector>

#include "ggml.h"

namespace roomful {

/**
 * Collects what llama.cpp and ggml log on this thread while it lives. Their log callback is one per process; lines go
 * to the innermost capture of the thread that wrote them, so stages on different threads never see each other's, and
 * no lock is taken. Lines written where nothing captures are dropped.
 */
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /** `summary`, followed by the first error line: the first one names the cause, later ones only that it failed. */
  std::string explain(const std::string& summary) const;

  /** The latest lines from level info on, without their line ends. */
  const std::vector<std::string>& lines() const { return lines_; }

  static void receive(ggml_log_level level, const char* text, void* unused);

 private:
  void append(ggml_log_level level, const std::string& text);

  LogCapture* outer_;
  std::vector<std::string> lines_;
  std::string firstError_;
  ggml_log_level level_ = GGML_LOG_LEVEL_NONE;
};

}  // namespace roomful
