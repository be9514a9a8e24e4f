#include "devices.h"

namespace roomful {

namespace {

const char* kindOf(enum ggml_backend_dev_type type) {
  switch (type) {
    case GGML_BACKEND_DEVICE_TYPE_CPU: return "cpu";
    case GGML_BACKEND_DEVICE_TYPE_GPU: return "gpu";
    case GGML_BACKEND_DEVICE_TYPE_IGPU: return "integrated";
    case GGML_BACKEND_DEVICE_TYPE_ACCEL:
    case GGML_BACKEND_DEVICE_TYPE_META: return "accelerator";
  }
  return "accelerator";
}

}  // namespace

std::vector<Device> listDevices(const LlamaApi& api) {
  std::vector<Device> devices;
  for (size_t i = 0; i < api.ggml_backend_dev_count(); i++) {
    ggml_backend_dev_t device = api.ggml_backend_dev_get(i);
    size_t freeBytes = 0;
    size_t totalBytes = 0;
    api.ggml_backend_dev_memory(device, &freeBytes, &totalBytes);
    devices.push_back({api.ggml_backend_dev_name(device), api.ggml_backend_dev_description(device),
                       api.ggml_backend_reg_name(api.ggml_backend_dev_backend_reg(device)),
                       kindOf(api.ggml_backend_dev_type(device)), totalBytes, freeBytes});
  }
  return devices;
}

}  // namespace roomful
