#include "memoryReport.h"

#include <cmath>
#include <cstdlib>

namespace roomful {

namespace {

uint64_t bytesAfter(const std::string& line, size_t at) {
  constexpr double kMiB = 1024.0 * 1024.0;
  return static_cast<uint64_t>(std::llround(std::strtod(line.c_str() + at, nullptr) * kMiB));
}

}  // namespace

MemoryReport memoryReportFromLog(const std::vector<std::string>& lines) {
  constexpr const char* kMarker = " buffer size = ";
  MemoryReport report;
  for (const std::string& line : lines) {
    const size_t marker = line.find(kMarker);
    if (marker == std::string::npos) continue;
    const uint64_t bytes = bytesAfter(line, marker + std::char_traits<char>::length(kMarker));
    const std::string kind = line.substr(line.rfind(' ', marker - 1) + 1, marker - line.rfind(' ', marker - 1) - 1);
    if (kind == "model") report.weightBytes += bytes;
    else if (kind == "KV" || kind == "RS" || kind == "state") report.kvBytes += bytes;
    else if (kind == "compute" || kind == "output") report.computeBytes += bytes;
  }
  return report;
}

}  // namespace roomful
