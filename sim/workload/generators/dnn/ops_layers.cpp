#include "workload/generators/dnn/ops_layers.h"

namespace uvmsim::dnn {
namespace {

// `flops`: of an element, forward; the backward pass takes twice as many.
Tensor layer(const std::string& name, double flops, const Tensor& x) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  flops *= static_cast<double>(x.count());
  recorder.kernel(name + "_fwd", KernelClass::Pointwise, flops, {dense(x)}, {dense(y)});
  link(y, {&x}, {x.storage(), y.storage()},
       [&recorder, name, flops](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         recorder.kernel(name + "_bwd", KernelClass::Pointwise, 2 * flops,
                         {dense_as(*saved[0], dy), dense_as(*saved[1], dy), dense(dy)}, {dense(dy)});
         return {dy.alias()};
       });
  return y;
}

constexpr double kNeighbours = 5;  // squared and added; then
constexpr double kPower = 8;       // a power, as many operations as other transcendental functions (assumed)

}  // namespace

Tensor with_gradient(const Tensor& images) {
  Tensor x = images.alias();
  x.made_by = new Node;
  x.made_by->sequence = images.recorder().next_sequence();
  x.made_by->backward = [](const Saved&, const Tensor&) { return std::vector<Tensor>{}; };
  return x;
}

Tensor relu_layer(const Tensor& x) { return layer("relu", 1, x); }

Tensor local_response_norm_layer(const Tensor& x) { return layer("local_response_norm", 2 * kNeighbours + kPower, x); }

}  // namespace uvmsim::dnn
