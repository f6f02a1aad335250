#include <algorithm>
#include <cmath>

#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {
namespace {

Tensor link_add(Tensor sum, const Tensor& a, const Tensor& b) {
  link(sum, {&a, &b}, {}, [](const Saved&, const Tensor& dy) -> std::vector<Tensor> { return {dy, dy}; });
  return sum;
}

}  // namespace

Recorder::Tuning batch_norm_tuning(std::int64_t channels) {
  return {.bandwidth = std::min(1.0, std::sqrt(real(channels) / 128.0))};
}

Tensor batch_norm(const Tensor& x, const BatchNormParameters& p) {
  Recorder& recorder = x.recorder();
  const std::int64_t channel_count = x.shape()[1];
  const Recorder::Tuning tuning = batch_norm_tuning(channel_count);
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  const StorageRef mean = new Storage(recorder, channel_count * 4, TensorKind::Activation);
  const StorageRef inverse_deviation = new Storage(recorder, channel_count * 4, TensorKind::Activation);
  recorder.kernel("bn_fwd_train", KernelClass::BatchNorm, 8.0 * real(x.count()),
                  {channels(dense(x, 2), x.shape(), x.type()), shared(p.weight), shared(p.bias), shared(p.running_mean),
                   shared(p.running_var)},
                  {channels(dense(y), y.shape(), y.type()), dense(*mean), dense(*inverse_deviation),
                   shared(p.running_mean), shared(p.running_var)},
                  tuning);

  link(y, {&x, &p.weight, &p.bias}, {x.storage(), mean, inverse_deviation},
       [&recorder, tuning, shape = x.shape(), type = x.type(), weight = p.weight](
           const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         Tensor dw(recorder, weight.shape(), weight.type(), TensorKind::WeightGradient);
         Tensor db(recorder, weight.shape(), weight.type(), TensorKind::WeightGradient);
         recorder.kernel("bn_bwd", KernelClass::BatchNorm, 11.0 * real(dy.count()),
                         {channels(dense_as(*saved[0], dy, 2), shape, type), channels(dense(dy, 2), shape, type),
                          shared(weight), shared(*saved[1]), shared(*saved[2])},
                         {channels(dense(dx), shape, type), dense(dw), dense(db)}, tuning);
         return {dx, dw, db};
       });
  return y;
}

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor sum(a.recorder(), a.shape(), a.type(), TensorKind::Activation);
  a.recorder().kernel("add", KernelClass::Pointwise, real(a.count()), {dense(a), dense(b)}, {dense(sum)});
  return link_add(std::move(sum), a, b);
}

Tensor add_(const Tensor& a, const Tensor& b) {
  a.recorder().kernel("add_", KernelClass::Pointwise, real(a.count()), {dense(a), dense(b)}, {dense(a)});
  return link_add(a.alias(), a, b);
}

Tensor multiply(const Tensor& x, const Tensor& factor) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel("mul", KernelClass::Pointwise, real(x.count()), {dense(x), shared(factor)}, {dense(y)});
  link(y, {&x, &factor}, {x.storage(), factor.storage()},
       [&recorder, shape = x.shape(), type = x.type(), factor_shape = factor.shape(),
        kind = factor.parameter != nullptr ? TensorKind::WeightGradient : TensorKind::Gradient](
           const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("mul_bwd", KernelClass::Pointwise, real(dx.count()), {dense(dy), shared(*saved[1])},
                         {dense(dx)});
         const Tensor products(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("mul_bwd", KernelClass::Pointwise, real(dx.count()), {dense(dy), dense_as(*saved[0], dx)},
                         {dense(products)});
         Tensor dfactor(recorder, factor_shape, type, kind);
         recorder.kernel("mul_sum", KernelClass::Reduction, real(dx.count()), {dense(products)}, {dense(dfactor)});
         return {dx, dfactor};
       });
  return y;
}

Tensor multiply(const Tensor& x) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel("mul_scalar", KernelClass::Pointwise, real(x.count()), {dense(x)}, {dense(y)});
  link(y, {&x}, {}, [&recorder](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
    Tensor dx(recorder, dy.shape(), dy.type(), TensorKind::Gradient);
    recorder.kernel("mul_scalar", KernelClass::Pointwise, real(dx.count()), {dense(dy)}, {dense(dx)});
    return {dx};
  });
  return y;
}

}  // namespace uvmsim::dnn
