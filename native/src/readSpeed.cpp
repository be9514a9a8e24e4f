#include "readSpeed.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "logCapture.h"

namespace roomful {

namespace {

constexpr int64_t kColumns = 4096;
/** Rows of one matrix: 63 MiB of Q4_0, below the 128 MiB that some Vulkan drivers allow a binding. */
constexpr int64_t kRows = 28672;
constexpr size_t kMostMatrices = 8;
/** Of the free memory, the part that the matrices may take. */
constexpr size_t kFreeParts = 4;
/** Times that one graph goes over all matrices: what starting it costs is small beside them. */
constexpr size_t kPasses = 4;
/** What one graph takes, where its products allow it: long beside its start, short beside what else the machine does. */
constexpr std::chrono::milliseconds kGraphTime(5);
/** A byte of which Q4_0 makes normal numbers. */
constexpr uint8_t kFill = 0x11;

using Seconds = std::chrono::duration<double>;

struct Free {
  const LlamaApi* api;
  void operator()(ggml_backend_t backend) const { api->ggml_backend_free(backend); }
  void operator()(ggml_backend_buffer_t buffer) const { api->ggml_backend_buffer_free(buffer); }
  void operator()(ggml_context* context) const { api->ggml_free(context); }
};
using Backend = std::unique_ptr<ggml_backend, Free>;
using Buffer = std::unique_ptr<ggml_backend_buffer, Free>;
using Context = std::unique_ptr<ggml_context, Free>;

void setThreads(const LlamaApi& api, ggml_backend_dev_t device, ggml_backend_t backend, int32_t threads) {
  const auto set = reinterpret_cast<ggml_backend_set_n_threads_t>(
      api.ggml_backend_reg_get_proc_address(api.ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
  if (set) set(backend, threads);
}

/** Products of matrices, which lie on one device, with a vector. */
class Products {
 public:
  Products(const LlamaApi& api, ggml_backend_t backend, size_t matrices)
      : api_(api),
        backend_(backend),
        context_(newContext(api.ggml_tensor_overhead() * (1 + matrices * (1 + kPasses)))),
        buffer_(nullptr, Free{&api}),
        vector_(api.ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, kColumns, 1)) {
    std::vector<ggml_tensor*> weights(matrices);
    for (ggml_tensor*& matrix : weights) {
      matrix = api.ggml_new_tensor_2d(context_.get(), GGML_TYPE_Q4_0, kColumns, kRows);
    }
    for (size_t pass = 0; pass < kPasses; pass++) {
      for (ggml_tensor* matrix : weights) products_.push_back(api.ggml_mul_mat(context_.get(), matrix, vector_));
    }
  }

  static size_t matrixBytes(const LlamaApi& api) { return api.ggml_row_size(GGML_TYPE_Q4_0, kColumns) * kRows; }

  size_t count() const { return products_.size(); }

  bool supportedBy(ggml_backend_dev_t device) const {
    return api_.ggml_backend_dev_supports_op(device, products_.front());
  }

  /** False when the device has no room. */
  bool allocate() {
    buffer_.reset(api_.ggml_backend_alloc_ctx_tensors(context_.get(), backend_));
    if (!buffer_) return false;
    api_.ggml_backend_buffer_clear(buffer_.get(), kFill);
    const std::vector<float> ones(kColumns, 1.0F);
    api_.ggml_backend_tensor_set(vector_, ones.data(), 0, ones.size() * sizeof(float));
    return true;
  }

  /** Computes `count` products from `first` on, over the end and from the start again, and answers how long that took. */
  Outcome<Seconds> compute(size_t first, size_t count) const {
    const Context context = newContext(api_.ggml_graph_overhead_custom(kGraphSize, false));
    ggml_cgraph* const graph = api_.ggml_new_graph_custom(context.get(), kGraphSize, false);
    for (size_t i = 0; i < count; i++) api_.ggml_build_forward_expand(graph, products_[(first + i) % products_.size()]);
    const auto started = std::chrono::steady_clock::now();
    if (api_.ggml_backend_graph_compute(backend_, graph) != GGML_STATUS_SUCCESS) {
      return Failure{FailureCode::DecodeFailed, "the device could not multiply"};
    }
    return Seconds(std::chrono::steady_clock::now() - started);
  }

 private:
  static constexpr size_t kGraphSize = 2 * (1 + kMostMatrices * (1 + kPasses));

  Context newContext(size_t bytes) const { return {api_.ggml_init({bytes, nullptr, /* no_alloc */ true}), Free{&api_}}; }

  const LlamaApi& api_;
  ggml_backend_t backend_;
  Context context_;
  Buffer buffer_;
  ggml_tensor* vector_;
  std::vector<ggml_tensor*> products_;
};

}  // namespace

Outcome<double> measureReadSpeed(const LlamaApi& api, const std::string& name, int32_t threads,
                                 std::chrono::milliseconds budget) {
  const LogCapture log;
  ggml_backend_dev_t device = api.ggml_backend_dev_by_name(name.c_str());
  if (!device) return Failure{FailureCode::BadArgument, "there is no device named '" + name + "'"};
  ggml_backend_dev_props props{};
  api.ggml_backend_dev_get_props(device, &props);
  const size_t matrixBytes = Products::matrixBytes(api);
  const size_t matrices = std::min(kMostMatrices, props.memory_free / kFreeParts / matrixBytes);
  if (matrices == 0) return Failure{FailureCode::LoadFailed, "'" + name + "' has too little free memory to measure it"};

  const Backend backend(api.ggml_backend_dev_init(device, nullptr), Free{&api});
  if (!backend) return Failure{FailureCode::LoadFailed, log.explain("'" + name + "' could not be opened")};
  setThreads(api, device, backend.get(), threads);
  Products products(api, backend.get(), matrices);
  if (!products.supportedBy(device)) return Failure{FailureCode::LoadFailed, "'" + name + "' multiplies no Q4_0 matrices"};
  if (!products.allocate()) return Failure{FailureCode::LoadFailed, log.explain("'" + name + "' has too little free memory")};

  // The first compiles kernels, the second says how many make a graph.
  if (const auto warm = products.compute(0, 1); !warm.ok()) return warm.failure();
  const Outcome<Seconds> one = products.compute(1, 1);
  if (!one.ok()) return one.failure();
  const double fitting = Seconds(kGraphTime) / one.value();
  const size_t count = static_cast<size_t>(std::clamp(fitting, 1.0, static_cast<double>(products.count())));
  const auto deadline = std::chrono::steady_clock::now() + budget;
  Seconds fastest = Seconds::max();
  size_t first = 2;
  do {
    const Outcome<Seconds> took = products.compute(first, count);
    if (!took.ok()) return took.failure();
    fastest = std::min(fastest, took.value());
    first += count;
  } while (std::chrono::steady_clock::now() < deadline);
  return static_cast<double>(matrixBytes * count) / fastest.count();
}

}  // namespace roomful
