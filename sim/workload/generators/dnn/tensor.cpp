#include "workload/generators/dnn/tensor.h"

#include <algorithm>
#include <limits>

#include "workload/generators/dnn/autograd.h"

namespace uvmsim::dnn {

Tensor::Tensor() = default;
Tensor::Tensor(Recorder& recorder, Shape shape, DataType type, TensorKind kind)
    : shape_(std::move(shape)), type_(type), storage_(new Storage(recorder, bytes(), kind)) {}
Tensor::~Tensor() = default;
Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;

Tensor Tensor::view(Shape shape, std::int64_t offset) const {
  Tensor view;
  view.shape_ = std::move(shape);
  view.type_ = type_;
  view.offset_ = offset;
  view.storage_ = storage_;
  return view;
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor view = alias();
  view.shape_ = std::move(shape);
  return view;
}

std::int64_t Tensor::count() const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;  // no element has more bytes
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_)
    if (__builtin_mul_overflow(count, extent, &count)) return kMost;
  return std::min(count, kMost);
}

}  // namespace uvmsim::dnn
