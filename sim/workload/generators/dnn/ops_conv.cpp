#include <algorithm>

#include "workload/generators/dnn/conv_work.h"
#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {
namespace {

Shape convolved(const Tensor& x, const Tensor& weight, ConvShape shape) {
  Shape out = {x.shape()[0], shape.transposed ? weight.shape()[1] * shape.groups : weight.shape()[0]};
  for (std::size_t d = 2; d < x.shape().size(); ++d) {
    const std::int64_t extent = weight.shape()[d], in = x.shape()[d];
    const std::int64_t padding = shape.padding == kSame ? (extent - 1) / 2 : shape.padding;
    out.push_back(shape.transposed ? (in - 1) * shape.stride - 2 * padding + extent
                                   : (in + 2 * padding - extent) / shape.stride + 1);
  }
  return out;
}

}  // namespace

Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, ConvShape shape) {
  Recorder& recorder = x.recorder();
  const bool tensor_cores = recorder.tensor_cores();
  Tensor out(recorder, convolved(x, weight, shape), x.type(), TensorKind::Activation);
  const ConvWork work = conv_work(x.shape(), weight.shape(), out.shape(), shape.groups, shape.transposed, tensor_cores);
  // Grouped ones launch other kernels.
  const auto operand = [grouped = shape.groups > 1](const Operand& swept, const Shape& of, DataType type) {
    return grouped ? swept : pixels(swept, of, type);
  };
  recorder.kernel(work.name + "_fwd", work.forward.kernel_class, work.flops,
                  {operand(dense(x), x.shape(), x.type()), shared(weight)},
                  {operand(dense(out), out.shape(), out.type())}, work.forward.tuning);
  if (bias)
    recorder.kernel("bias_add", KernelClass::Pointwise, real(out.count()), {dense(out), shared(bias)}, {dense(out)},
                    {tensor_cores});

  const bool x_needs = x.needs_gradient(), has_bias = static_cast<bool>(bias);
  link(out, {&x, &weight, &bias}, {x.storage(), weight.storage()},
       [&recorder, work, operand, x_needs, has_bias, x_shape = x.shape(), weight_shape = weight.shape(),
        out_shape = out.shape(), type = x.type(),
        tensor_cores](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx, db;
         if (x_needs) {
           dx = Tensor(recorder, x_shape, type, TensorKind::Gradient);
           recorder.kernel(work.name + "_dgrad", work.data.kernel_class, work.flops,
                           {operand(dense(dy), out_shape, type), shared(*saved[1])},
                           {operand(dense(dx), x_shape, type)}, work.data.tuning);
         }
         Tensor dw(recorder, weight_shape, type, TensorKind::WeightGradient);
         recorder.kernel(work.name + "_wgrad", work.weight.kernel_class, work.flops,
                         {operand(dense(*saved[0]), x_shape, type), operand(dense(dy), out_shape, type)}, {dense(dw)},
                         work.weight.tuning);
         if (has_bias) {
           db = Tensor(recorder, {out_shape[1]}, type, TensorKind::WeightGradient);
           recorder.kernel("bias_grad", KernelClass::Reduction, real(dy.count()), {dense(dy)}, {dense(db)},
                           {tensor_cores});
         }
         return {dx, dw, db};
       });
  return out;
}

}  // namespace uvmsim::dnn
