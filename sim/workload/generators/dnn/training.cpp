#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

DataType type_of(const std::string& dtype) {
  if (dtype == "fp16") return DataType::Float16;
  return dtype == "bf16" ? DataType::BFloat16 : DataType::Float32;
}

}  // namespace

trace::Header roofline_header(const RooflineDevice& device) {
  trace::Header header;
  header.durations = "roofline of " + device.name + ", efficiencies of " + device.architecture;
  header.durations_status = efficiencies_fitted(device) ? "fitted" : "assumed";
  header.devices = {{device.name, device.memory_bytes, device.fp32_flops, device.bandwidth}};
  header.host_op_ns = device.host_op_ns;
  return header;
}

trace::Header training_header(const std::string& name, const std::string& sample_unit, const TrainingParameters& p) {
  trace::Header header = roofline_header(p.roofline());
  header.generator = "uvmsim " + name;
  header.name = name + "/" + p.dtype + "/b" + std::to_string(p.batch);
  header.provenance = "generated: eager PyTorch " + p.torch + " re-enacted on shapes";
  header.sample_unit = sample_unit;
  header.samples = static_cast<double>(p.batch);
  return header;
}

Recorder::Options recorder_options(const TrainingParameters& p) {
  return {.device = p.roofline(),
          .type = type_of(p.dtype),
          .torch = p.torch == "1.0" ? TorchVersion::V1_0 : TorchVersion::V2_x,
          .pool_indexes = p.pool_indexes == "int64"};
}

std::vector<ParameterSpec> parameters_of(const Recorder::Options& options,
                                         const std::function<void(Recorder&, Net&)>& forward) {
  TraceBuilder scratch{{}};
  Recorder recorder(options, scratch);
  Net net(recorder);
  forward(recorder, net);
  return net.specs();
}

trace::Trace train(const Model& model, const TrainingParameters& p, int iterations) {
  const Recorder::Options options = recorder_options(p);
  const std::vector<ParameterSpec> specs =
      parameters_of(options, [&](Recorder& recorder, Net& net) { model.forward(net, model.input(recorder)); });
  TraceBuilder trace(training_header(model.name, model.sample_unit, p));
  Recorder recorder(options, trace);
  Net net(recorder, specs);
  Optimizer optimizer(p.optimizer);

  // Eager scripts keep `output` bound until the next forward has made a new one: it lives through the optimizer
  // step and the next forward pass.
  Tensor output, bound;
  for (int i = 0; i < iterations; ++i) {
    recorder.iteration(i);
    Tensor input = model.input(recorder);
    Tensor target = model.target(recorder);
    recorder.upload(input);
    recorder.upload(target);
    if (options.torch == TorchVersion::V1_0) zero_grad(net);
    recorder.phase("forward");
    output = model.forward(net, input);
    recorder.enter("loss");
    Tensor loss = model.loss(output, target, bound);
    if (net.auxiliary) loss = add(loss, model.auxiliary_loss(net.auxiliary, target));
    input = {};
    target = {};
    recorder.phase("backward");
    backward(loss);
    loss = {};
    recorder.phase("optimizer");
    optimizer.step(net);
    if (options.torch != TorchVersion::V1_0) zero_grad(net);
  }
  recorder.close();
  return trace.take();
}

}  // namespace uvmsim::dnn
