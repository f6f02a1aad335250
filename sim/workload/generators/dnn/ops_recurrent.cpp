#include <algorithm>

#include "workload/generators/dnn/matrix_operands.h"
#include "workload/generators/dnn/ops_sequence.h"

namespace uvmsim::dnn {
namespace {

// A time step of a layer takes at least this long (assumed): launches and synchronisation inside cuDNN.
constexpr double kForwardStep = 5e-6, kBackwardStep = 9e-6;  // s
constexpr std::int64_t kStepsPerKernel = 64;

struct Lstm {
  std::int64_t steps = 0, batch = 0, hidden = 0, layers = 0;
  DataType type = DataType::Float32;
  double input_flops = 0, recurrent_flops = 0;
  std::vector<Tensor> weights;

  std::int64_t kernels() const { return std::max<std::int64_t>(1, steps / kStepsPerKernel); }
  std::int64_t cells() const { return steps * batch * hidden; }
  std::int64_t reserve_bytes() const {
    const std::int64_t element = size_of(type);
    return cells() * ((layers * 7 + layers - 1) * element + (layers - 1));
  }
  std::int64_t workspace_bytes(std::int64_t of_layers) const {
    return cells() * 4 * size_of(type) * of_layers + (std::int64_t{4} << 20);
  }
  void add_weights(std::vector<Operand>& operands) const {
    for (const Tensor& w : weights) operands.push_back(shared(w));
  }
};

void forward(const Lstm& lstm, const Tensor& x, const Tensor& y, const Storage& reserve) {
  Recorder& recorder = x.recorder();
  const bool tensor_cores = recorder.tensor_cores();
  const Storage workspace(recorder, lstm.workspace_bytes(1), TensorKind::Workspace);
  std::vector<Operand> reads = {dense(x)};
  lstm.add_weights(reads);
  recorder.kernel("rnn_fwd_inproj", KernelClass::Gemm, lstm.input_flops, reads, {dense(workspace), dense(reserve)},
                  {tensor_cores});
  const std::int64_t kernels = lstm.kernels();
  for (std::int64_t i = 0; i < kernels; ++i) {
    reads = {slice(dense(reserve), i, kernels), slice(dense(workspace), i, kernels)};
    lstm.add_weights(reads);
    recorder.kernel(
        "rnn_fwd_steps", KernelClass::Recurrent, lstm.recurrent_flops / real(kernels), reads,
        {slice(dense(reserve), i, kernels), slice(dense(y), i, kernels)},
        {.tensor_cores = tensor_cores, .at_least = kForwardStep * real(lstm.steps * lstm.layers) / real(kernels)});
  }
}

std::vector<Tensor> backward(const Lstm& lstm, const Shape& x_shape, const Saved& saved, const Tensor& dy) {
  Recorder& recorder = dy.recorder();
  const bool tensor_cores = recorder.tensor_cores();
  const Storage &x = *saved[0], &y = *saved[1], &reserve = *saved[2];
  std::vector<Tensor> gradients = {Tensor(recorder, x_shape, lstm.type, TensorKind::Gradient)};
  const Storage workspace(recorder, lstm.workspace_bytes(lstm.layers), TensorKind::Workspace);
  const std::int64_t kernels = lstm.kernels();
  for (std::int64_t i = kernels - 1; i >= 0; --i) {
    std::vector<Operand> reads = {slice(dense(reserve), i, kernels), slice(dense(dy), i, kernels)};
    lstm.add_weights(reads);
    recorder.kernel(
        "rnn_bwd_steps", KernelClass::Recurrent, lstm.recurrent_flops / real(kernels), reads,
        {slice(dense(workspace), i, kernels), slice(dense(reserve), i, kernels)},
        {.tensor_cores = tensor_cores, .at_least = kBackwardStep * real(lstm.steps * lstm.layers) / real(kernels)});
  }
  std::vector<Operand> reads = {dense(workspace)};
  lstm.add_weights(reads);
  recorder.kernel("rnn_bwd_data", KernelClass::Gemm, lstm.input_flops, reads, {dense(gradients[0])}, {tensor_cores});
  std::vector<Operand> writes;
  for (const Tensor& w : lstm.weights) {
    gradients.emplace_back(recorder, w.shape(), w.type(), TensorKind::WeightGradient);
    writes.push_back(dense(gradients.back()));
  }
  recorder.kernel("rnn_bwd_weights", KernelClass::Gemm, lstm.input_flops + lstm.recurrent_flops,
                  {dense(workspace), dense_as(x, gradients[0]), dense(y), dense(reserve)}, writes, {tensor_cores});
  return gradients;
}

}  // namespace

LstmResult lstm(const Tensor& x, const std::vector<Tensor>& weights, std::int64_t hidden, std::int64_t layers) {
  Recorder& recorder = x.recorder();
  Lstm shape{.steps = x.shape()[0],
             .batch = x.shape()[1],
             .hidden = hidden,
             .layers = layers,
             .type = x.type(),
             .weights = weights};
  const double gates = 2.0 * real(shape.cells()) * 4.0;
  shape.input_flops = gates * real(x.shape()[2] + (layers - 1) * hidden);
  shape.recurrent_flops = gates * real(hidden * layers);

  LstmResult result;
  result.output = Tensor(recorder, {shape.steps, shape.batch, hidden}, x.type(), TensorKind::Activation);
  result.hidden = Tensor(recorder, {layers, shape.batch, hidden}, x.type(), TensorKind::Activation);
  result.cell = Tensor(recorder, {layers, shape.batch, hidden}, x.type(), TensorKind::Activation);
  const StorageRef reserve = new Storage(recorder, shape.reserve_bytes(), TensorKind::Activation);
  forward(shape, x, result.output, *reserve);

  std::vector<const Tensor*> inputs = {&x};
  for (const Tensor& w : weights) inputs.push_back(&w);
  link(result.output, inputs, {x.storage(), result.output.storage(), reserve},
       [shape, x_shape = x.shape()](const Saved& saved, const Tensor& dy) {
         return backward(shape, x_shape, saved, dy);
       });
  return result;
}

}  // namespace uvmsim::dnn
