#include "workload/generators/dnn/tensor.h"

#include <functional>
#include <numeric>

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
  return std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace uvmsim::dnn
