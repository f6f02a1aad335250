#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  const std::int64_t row_count = x.count() / x.shape().back();
  const StorageRef mean = new Storage(recorder, row_count * 4, TensorKind::Activation);
  const StorageRef inverse_deviation = new Storage(recorder, row_count * 4, TensorKind::Activation);
  recorder.kernel("layer_norm_fwd", KernelClass::BatchNorm, 8.0 * real(x.count()),
                  {rows(x), shared(weight), shared(bias)}, {rows(y), dense(*mean), dense(*inverse_deviation)});

  link(y, {&x, &weight, &bias}, {x.storage(), mean, inverse_deviation},
       [&recorder, shape = x.shape(), type = x.type(), weight](const Saved& saved,
                                                               const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         Tensor dw(recorder, weight.shape(), weight.type(), TensorKind::WeightGradient);
         Tensor db(recorder, weight.shape(), weight.type(), TensorKind::WeightGradient);
         recorder.kernel("layer_norm_bwd", KernelClass::BatchNorm, 11.0 * real(dy.count()),
                         {rows_as(*saved[0], dx), rows(dy), shared(weight), dense(*saved[1]), dense(*saved[2])},
                         {rows(dx)});
         recorder.kernel("layer_norm_bwd_weights", KernelClass::Reduction, 4.0 * real(dy.count()),
                         {dense_as(*saved[0], dx), dense(dy), dense(*saved[1]), dense(*saved[2])},
                         {dense(dw), dense(db)});
         return {dx, dw, db};
       });
  return y;
}

Tensor gelu(const Tensor& x) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel("gelu", KernelClass::Pointwise, real(x.count()), {dense(x)}, {dense(y)});
  link(y, {&x}, {x.storage()},
       [&recorder, shape = x.shape(), type = x.type()](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("gelu_bwd", KernelClass::Pointwise, 2.0 * real(dx.count()),
                         {dense(dy), dense_as(*saved[0], dx)}, {dense(dx)});
         return {dx};
       });
  return y;
}

}  // namespace uvmsim::dnn
