#include "outputTap.h"

#include <algorithm>
#include <utility>

namespace roomful {

OutputTap::OutputTap(const LlamaApi& api, std::string name, int32_t columns)
    : api_(api), name_(std::move(name)), columns_(columns) {}

void OutputTap::begin(std::span<std::byte> destination) {
  destination_ = destination;
  leftOut_ = {};
  open_ = true;
  written_ = 0;
  problem_ = nullptr;
}

void OutputTap::leaveOut(std::span<const uint8_t> rows) { leftOut_ = rows; }

Outcome<size_t> OutputTap::end() {
  destination_ = {};
  leftOut_ = {};
  open_ = false;
  if (problem_) return Failure{FailureCode::DecodeFailed, problem_};
  return written_;
}

bool OutputTap::onTensor(ggml_tensor* tensor, bool ask, void* self) {
  auto& tap = *static_cast<OutputTap*>(self);
  if (!tap.open_ || tap.name_ != tensor->name) return false;
  if (!ask) tap.take(tensor);
  return ask;
}

void OutputTap::take(const ggml_tensor* tensor) {
  if (tensor->type != GGML_TYPE_F32 || tensor->ne[0] != columns_ || !api_.ggml_is_contiguous(tensor)) {
    problem_ = "what the graph gave has an unexpected type or shape";
    return;
  }
  const size_t rowBytes = static_cast<size_t>(columns_) * sizeof(float);
  const size_t rows = api_.ggml_nbytes(tensor) / rowBytes;
  const auto isLeftOut = [&](size_t row) { return row < leftOut_.size() && leftOut_[row] != 0; };
  for (size_t first = 0; first < rows;) {
    if (isLeftOut(first)) {
      first++;
      continue;
    }
    size_t end = first + 1;
    while (end < rows && !isLeftOut(end)) end++;
    const size_t bytes = (end - first) * rowBytes;
    if (bytes > destination_.size() - written_) {
      problem_ = "the graph gave more rows than the step has tokens";
      return;
    }
    api_.ggml_backend_tensor_get(tensor, destination_.data() + written_, first * rowBytes, bytes);
    written_ += bytes;
    first = end;
  }
  leftOut_ = leftOut_.subspan(std::min(rows, leftOut_.size()));
}

}  // namespace roomful
