#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llamaApi.h"

namespace roomful {

/** A device as a ggml backend reports it; bytes. */
struct Device {
  std::string name;
  std::string description;
  std::string backend;
  /** Lower-case PCI address such as `0000:c1:00.0`; empty where the backend knows none. */
  std::string pciAddress;
  /** 'cpu', 'gpu', 'integrated' or 'accelerator'. */
  const char* kind;
  uint64_t totalBytes;
  uint64_t freeBytes;
};

std::vector<Device> listDevices(const LlamaApi& api);

}  // namespace roomful
