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
    ggml_backend_dev_props props{};
    api.ggml_backend_dev_get_props(device, &props);
    devices.push_back({props.name, props.description, api.ggml_backend_reg_name(api.ggml_backend_dev_backend_reg(device)),
                       props.device_id ? props.device_id : "", kindOf(props.type), props.memory_total, props.memory_free});
  }
  return devices;
}

}  // namespace roomful
