#include <algorithm>

#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {

Tensor concat(const std::vector<Tensor>& parts) {
  Recorder& recorder = parts.front().recorder();
  Shape shape = parts.front().shape();
  shape[1] = 0;
  std::vector<Operand> operands;
  std::vector<const Tensor*> inputs;
  std::vector<Shape> shapes;  // of the parts; empty: its gradient is not needed
  for (const Tensor& part : parts) {
    shape[1] += part.shape()[1];
    operands.push_back(dense(part));
    inputs.push_back(&part);
    shapes.push_back(part.needs_gradient() ? part.shape() : Shape{});
  }
  std::vector<std::int64_t> offsets;  // of the parts in the first sample
  std::int64_t offset = 0;
  for (const Tensor& part : parts) {
    offsets.push_back(offset);
    offset += part.bytes() / part.shape()[0];
  }
  Tensor y(recorder, shape, parts.front().type(), TensorKind::Activation);
  recorder.kernel("cat", KernelClass::Copy, 0, operands, {dense(y)});
  link(y, inputs, {}, [shapes, offsets](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
    std::vector<Tensor> slices(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (!shapes[i].empty()) slices[i] = dy.view(shapes[i], dy.offset() + offsets[i]);
    return slices;
  });
  return y;
}

Tensor reshape(const Tensor& x, Shape shape) {
  Tensor y = x.view(std::move(shape), x.offset());
  link(y, {&x}, {}, [before = x.shape()](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
    return {dy.view(before, dy.offset())};
  });
  return y;
}

Tensor permute(const Tensor& x, Shape shape) {
  Recorder& recorder = x.recorder();
  Tensor y(recorder, std::move(shape), x.type(), TensorKind::Activation);
  recorder.kernel("permute", KernelClass::Copy, 0, {dense(x)}, {dense(y)});
  link(y, {&x}, {},
       [&recorder, before = x.shape(), type = x.type()](const Saved&, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, before, type, TensorKind::Gradient);
         recorder.kernel("permute_bwd", KernelClass::Copy, 0, {dense(dy)}, {dense(dx)});
         return {dx};
       });
  return y;
}

}  // namespace uvmsim::dnn
