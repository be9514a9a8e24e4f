#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "failure.h"
#include "llamaApi.h"

namespace roomful {

/**
 * Bytes per second at which a device reads Q4_0 weights to multiply them with one vector, as decoding does: the fastest of
 * several passes over more memory than caches hold. Takes about `budget` and up to 504 MiB of the device's memory, freed
 * again; `threads` count on the CPU only.
 */
Outcome<double> measureReadSpeed(const LlamaApi& api, const std::string& device, int32_t threads,
                                 std::chrono::milliseconds budget);

}  // namespace roomful
