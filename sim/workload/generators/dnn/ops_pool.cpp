#include <algorithm>

#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {
namespace {

Shape pooled(const Tensor& x, PoolShape shape) {
  Shape out = {x.shape()[0], x.shape()[1]};
  for (std::size_t d = 2; d < x.shape().size(); ++d) {
    const std::int64_t room = x.shape()[d] + 2 * shape.padding - shape.kernel;
    const std::int64_t more = shape.round_up ? shape.stride - 1 : 0;
    out.push_back((room + more) / shape.stride + 1);
  }
  return out;
}

double work(const Tensor& y, PoolShape shape) { return real(y.count() * shape.kernel * shape.kernel); }

// cuDNN's: the backward pass finds the maxima again by the result, and fills dx itself.
Tensor max_pool_without_index(const Tensor& x, PoolShape shape) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, pooled(x, shape), x.type(), TensorKind::Activation);
  recorder.kernel("maxpool", KernelClass::Pointwise, work(y, shape), {dense(x)}, {dense(y)});
  link(y, {&x}, {x.storage(), y.storage()},
       [&recorder, shape = x.shape(), type = x.type()](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("maxpool_bwd", KernelClass::Pointwise, real(dx.count()),
                         {dense(dy), dense_as(*saved[0], dx), dense_as(*saved[1], dy)}, {dense(dx)});
         return {dx};
       });
  return y;
}

}  // namespace

Tensor max_pool(const Tensor& x, PoolShape shape) {
  Recorder& recorder = x.recorder();
  if (!recorder.pool_indexes()) return max_pool_without_index(x, shape);
  Tensor y(recorder, pooled(x, shape), x.type(), TensorKind::Activation);
  const Tensor index(recorder, y.shape(), DataType::Int64, TensorKind::Activation);
  recorder.kernel("maxpool", KernelClass::Pointwise, work(y, shape), {dense(x)}, {dense(y), dense(index)});
  link(y, {&x}, {x.storage(), index.storage()},
       [&recorder, shape = x.shape(), type = x.type()](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("fill_zero", KernelClass::Fill, 0, {}, {wide(dx)});
         recorder.kernel("maxpool_bwd", KernelClass::Pointwise, real(dx.count()),
                         {dense(dy), dense_as(*saved[0], dx), dense(*saved[1])}, {dense(dx)});
         return {dx};
       });
  return y;
}

namespace {

Tensor averaged(const Tensor& x, Tensor y, double flops) {
  Recorder& recorder = x.recorder();
  recorder.kernel("avgpool", KernelClass::Pointwise, flops, {dense(x)}, {dense(y)});
  link(y, {&x}, {x.storage()},
       [&recorder, shape = x.shape(), type = x.type()](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("avgpool_bwd", KernelClass::Pointwise, real(dx.count()), {dense(dy), dense_as(*saved[0], dx)},
                         {dense(dx)});
         return {dx};
       });
  return y;
}

}  // namespace

Tensor average_pool(const Tensor& x, PoolShape shape) {
  Tensor y(x.recorder(), pooled(x, shape), x.type(), TensorKind::Activation);
  const double flops = work(y, shape);
  return averaged(x, std::move(y), flops);
}

Tensor adaptive_average_pool(const Tensor& x, std::int64_t extent) {
  Shape shape(x.shape().size(), extent);
  std::copy_n(x.shape().begin(), 2, shape.begin());
  return averaged(x, Tensor(x.recorder(), shape, x.type(), TensorKind::Activation), real(x.count()));
}

Tensor global_average_pool(const Tensor& x) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, {x.shape()[0], x.shape()[1]}, x.type(), TensorKind::Activation);
  recorder.kernel("avgpool_global", KernelClass::Reduction, real(x.count()), {dense(x)}, {dense(y)});
  link(y, {&x}, {x.storage()},
       [&recorder, shape = x.shape(), type = x.type()](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("avgpool_global_bwd", KernelClass::Pointwise, real(dx.count()), {dense(dy)}, {dense(dx)});
         return {dx};
       });
  return y;
}

}  // namespace uvmsim::dnn
