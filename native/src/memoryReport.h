#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roomful {

/** Bytes that the backends allocated for one stage, over all devices. */
struct MemoryReport {
  uint64_t weightBytes = 0;
  uint64_t kvBytes = 0;
  uint64_t computeBytes = 0;
};

/**
 * Sums the `... buffer size = 12.34 MiB` lines that llama.cpp logs while it loads. They come from
 * ggml_backend_buffer_get_size, rounded to 0.01 MiB. The exact numbers sit behind llama_get_memory_breakdown, which
 * returns a C++ map: not callable across the compilers that libraries and addon are built with.
 */
MemoryReport memoryReportFromLog(const std::vector<std::string>& lines);

}  // namespace roomful
