#include <algorithm>

#include "workload/generators/dnn/matrix_operands.h"
#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {
namespace {

// y (m, n) = x (m, k) times weight (n, k) transposed: which operands its products tile.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  DataType type = DataType::Float32;

  bool tiled() const { return std::max({m * n, m * k, n * k}) * size_of(type) >= kTiledBytes; }
  Operand x(Operand o) const { return tiled() ? tile(std::move(o), m, k, type) : o; }
  Operand y(Operand o) const { return tiled() ? tile(std::move(o), m, n, type) : o; }
  Operand weight(Operand o) const { return tiled() ? tile(std::move(o), n, k, type) : o; }
  Operand weight_transposed(Operand o) const { return tiled() ? tile(std::move(o), k, n, type, true) : o; }
  Operand y_transposed(Operand o) const { return tiled() ? tile(std::move(o), n, m, type, true) : o; }
  Operand y_by_columns(Operand o) const { return tiled() ? column_stripes(std::move(o), n, type) : o; }
};

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Recorder& recorder = x.recorder();
  const std::int64_t out = weight.shape()[0], in = weight.shape()[1];
  Shape shape = x.shape();
  shape.back() = out;
  Tensor y(recorder, std::move(shape), x.type(), TensorKind::Activation);
  const Product product{.m = x.count() / in, .n = out, .k = in, .type = x.type()};
  const double flops = 2.0 * real(product.m) * real(out) * real(in);
  // cuBLAS 10 uses tensor cores only when all dimensions are multiples of 8; later ones need no alignment.
  const bool aligned = out % 8 == 0 && in % 8 == 0;
  const bool tensor_cores = recorder.tensor_cores() && (aligned || recorder.torch() != TorchVersion::V1_0);
  std::vector<Operand> operands = {product.x(dense(x)), product.weight_transposed(shared(weight))};
  if (bias) operands.push_back(shared(bias));
  recorder.kernel("gemm_fwd", KernelClass::Gemm, flops, operands, {product.y(dense(y))},
                  {tensor_cores, inner_efficiency(real(in))});

  link(y, {&x, &weight, &bias}, {x.storage(), weight.storage()},
       [&recorder, product, x_read = operands[0], flops, tensor_cores, out, has_bias = static_cast<bool>(bias),
        x_needs = x.needs_gradient(), x_shape = x.shape(), x_type = x.type(), weight_shape = weight.shape(),
        weight_type = weight.type()](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx, db;
         if (x_needs) {
           dx = Tensor(recorder, x_shape, x_type, TensorKind::Gradient);
           recorder.kernel("gemm_dgrad", KernelClass::Gemm, flops,
                           {product.y(dense(dy)), product.weight(shared(*saved[1]))}, {product.x(dense(dx))},
                           {tensor_cores, data_gradient_efficiency(real(out))});
         }
         Tensor dw(recorder, weight_shape, weight_type, TensorKind::WeightGradient);
         recorder.kernel("gemm_wgrad", KernelClass::Gemm, flops, {product.y_transposed(dense(dy)), x_read},
                         {product.weight(dense(dw))}, {tensor_cores, weight_gradient_efficiency()});
         if (has_bias) {
           db = Tensor(recorder, {out}, weight_type, TensorKind::WeightGradient);
           recorder.kernel("bias_grad", KernelClass::Reduction, real(dy.count()), {product.y_by_columns(dense(dy))},
                           {dense(db)});
         }
         return {dx, dw, db};
       });
  return y;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target) {
  Recorder& recorder = logits.recorder();
  const double count = real(logits.count());
  const double samples = real(logits.shape()[0]);
  Tensor log_softmax(recorder, logits.shape(), logits.type(), TensorKind::Activation);
  recorder.kernel("log_softmax_fwd", KernelClass::Softmax, 5.0 * count, {rows(logits, 2)}, {rows(log_softmax)});
  link(log_softmax, {&logits}, {log_softmax.storage()},
       [&recorder, count, shape = logits.shape(), type = logits.type()](const Saved& saved,
                                                                        const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("log_softmax_bwd", KernelClass::Softmax, 4.0 * count, {rows(dy, 2), rows_as(*saved[0], dx)},
                         {rows(dx)});
         return {dx};
       });

  Tensor loss(recorder, {1}, logits.type(), TensorKind::Activation);
  const StorageRef total_weight = new Storage(recorder, 4, TensorKind::Activation);
  recorder.kernel("nll_loss_fwd", KernelClass::Gather, samples, {one_per_row(log_softmax), dense(target)},
                  {dense(loss), dense(*total_weight)});
  link(loss, {&log_softmax}, {log_softmax.storage(), target.storage(), total_weight},
       [&recorder, samples, shape = logits.shape(), type = logits.type()](const Saved& saved,
                                                                          const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("fill_zero", KernelClass::Fill, 0, {}, {wide(dx)});
         // The zeros around the written elements stay, so the range is updated rather than overwritten.
         recorder.kernel("nll_loss_bwd", KernelClass::Gather, samples, {dense(dy), dense(*saved[1]), one_per_row(dx)},
                         {one_per_row(dx)});
         return {dx};
       });
  return loss;
}

}  // namespace uvmsim::dnn
