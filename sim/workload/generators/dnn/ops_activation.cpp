#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {
namespace {

// `y` is the result of the pointwise function `name`, whose backward needs the storage of `saved`.
Tensor link_pointwise(std::string_view name, const Tensor& x, Tensor y, const Tensor& saved) {
  Recorder& recorder = x.recorder();
  link(y, {&x}, {saved.storage()},
       [&recorder, name = std::string(name) + "_bwd", shape = x.shape(), type = x.type()](
           const Saved& kept, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel(name, KernelClass::Pointwise, 2.0 * real(dx.count()), {dense(dy), dense_as(*kept[0], dx)},
                         {dense(dx)});
         return {dx};
       });
  return y;
}

Tensor in_place(std::string_view name, double flops, const Tensor& x) {
  x.recorder().kernel(std::string(name) + "_", KernelClass::Pointwise, flops * real(x.count()), {dense(x)}, {dense(x)});
  return link_pointwise(name, x, x.alias(), x);
}

enum class Saves : std::uint8_t { Input, Result };

Tensor pointwise(std::string_view name, double flops, const Tensor& x, Saves saves) {
  Tensor y(x.recorder(), x.shape(), x.type(), TensorKind::Activation);
  x.recorder().kernel(name, KernelClass::Pointwise, flops * real(x.count()), {dense(x)}, {dense(y)});
  return link_pointwise(name, x, y, saves == Saves::Input ? x : y);
}

constexpr double kTranscendental = 8;  // operations of an exponential or the like (assumed)

// Multiplies by a random mask, which is made on the way and saved.
Tensor masked(const std::string& name, const Tensor& x, const Tensor& mask, double flops, double backward_flops) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel(name, KernelClass::Pointwise, flops * real(x.count()), {dense(x)}, {dense(y), dense(mask)});
  link(y, {&x}, {mask.storage()},
       [&recorder, name, backward_flops, shape = x.shape(), type = x.type()](const Saved& saved,
                                                                             const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel(name + "_bwd", KernelClass::Pointwise, backward_flops * real(dx.count()),
                         {dense(dy), shared(*saved[0])}, {dense(dx)});
         return {dx};
       });
  return y;
}

}  // namespace

Tensor relu_(const Tensor& x) { return in_place("relu", 1, x); }
Tensor elu_(const Tensor& x) { return in_place("elu", kTranscendental, x); }

Tensor relu(const Tensor& x) {
  return pointwise("relu", 1, x, x.recorder().torch() == TorchVersion::V1_0 ? Saves::Input : Saves::Result);
}
Tensor elu(const Tensor& x) { return pointwise("elu", kTranscendental, x, Saves::Result); }
Tensor sigmoid(const Tensor& x) { return pointwise("sigmoid", kTranscendental, x, Saves::Result); }
Tensor tanh(const Tensor& x) { return pointwise("tanh", kTranscendental, x, Saves::Result); }

Tensor prelu(const Tensor& x, const Tensor& weight) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel("prelu", KernelClass::Pointwise, 2.0 * real(x.count()), {dense(x), shared(weight)}, {dense(y)});
  link(y, {&x, &weight}, {x.storage()},
       [&recorder, shape = x.shape(), type = x.type(), weight](const Saved& saved,
                                                               const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         const Tensor terms(recorder, shape, type, TensorKind::Gradient);
         Tensor dw(recorder, weight.shape(), weight.type(), TensorKind::WeightGradient);
         recorder.kernel("prelu_bwd", KernelClass::Pointwise, 3.0 * real(dx.count()),
                         {dense(dy), dense_as(*saved[0], dx), shared(weight)}, {dense(dx), dense(terms)});
         recorder.kernel("prelu_wsum", KernelClass::Reduction, real(dx.count()), {dense(terms)}, {dense(dw)});
         return {dx, dw};
       });
  return y;
}

Tensor dropout(const Tensor& x) {
  const Tensor mask(x.recorder(), x.shape(), DataType::UInt8, TensorKind::Activation);
  return masked("fused_dropout", x, mask, 4, 2);
}

Tensor drop_slices(const Tensor& x, const Shape& mask) {
  return masked("drop_slices", x, Tensor(x.recorder(), mask, x.type(), TensorKind::Activation), 1, 1);
}

}  // namespace uvmsim::dnn
