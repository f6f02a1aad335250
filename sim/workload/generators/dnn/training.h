// The training loop around a model, and the parameters that all models have.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/describe.h"
#include "workload/generator.h"
#include "workload/generators/dnn/net.h"
#include "workload/generators/dnn/optimizer.h"

namespace uvmsim::dnn {

struct TrainingParameters {
  std::int64_t batch = 1;
  std::string dtype = "fp32";
  std::string optimizer = "sgd";
  std::string device = kMachine;
  std::string torch = "1.0";
  std::string pool_indexes = "int64";

  static constexpr const char* kMachine = "machine";
  std::optional<RooflineDevice> machine = {};  // the experiment's, where one is known

  RooflineDevice roofline() const {
    if (device != kMachine) return roofline_device(device);
    return machine.value_or(roofline_device("v100"));
  }
};

// What generators of training have in common. P derives from TrainingParameters.
template <class P>
class TrainingGenerator : public Generator {
 public:
  DescribedObject parameters() override { return {&description(), &p_}; }
  std::string_view sort() const override { return "training"; }
  void run_on(const GpuSpec& gpu) override { p_.machine = roofline_device(gpu); }

 protected:
  virtual const Description& description() const = 0;

  P p_;
};

inline std::vector<std::string> training_devices() {
  std::vector<std::string> names = roofline_device_names();
  names.insert(names.begin(), TrainingParameters::kMachine);
  return names;
}

// A description that begins with the parameters of every model, and of those with max poolings. P derives from
// TrainingParameters.
template <class P>
Describe<P> describe_training(std::string doc, bool max_pools = false) {
  Describe<P> d(std::move(doc));
  d.integer("batch", &P::batch, "samples per iteration", {1, {}}, "samples")
      .text("dtype", &P::dtype, "type of parameters and activations; batch normalisation keeps its own in fp32",
            {"fp32", "fp16", "bf16"})
      .text("optimizer", &P::optimizer,
            "sgd has momentum and weight decay, plain_sgd neither; the moments of adam and adamw are fp32 (assumed: as "
            "mixed-precision training has them)",
            Optimizer::names())
      .text("device", &P::device,
            "the GPU whose roofline gives kernel durations; machine: the experiment's GPU, a V100 where there is none",
            training_devices())
      .text("torch", &P::torch,
            "the PyTorch whose eager semantics the trace follows: 1.0 zeroes gradients and sums them out of place",
            {"1.0", "2.x"});
  if (max_pools)
    d.text(
        "pool_indexes", &P::pool_indexes,
        "what max poolings keep for the backward pass: int64, an index per result (PyTorch's max_pool2d); none, their "
        "result (cudnnPoolingBackward, of TensorFlow, MXNet, CNTK and the cudnn of Torch)",
        {"int64", "none"});
  return d;
}

// What a training loop runs.
struct Model {
  std::string name;
  std::string sample_unit = "samples";
  std::function<Tensor(Recorder&)> input;                    // the shape of one batch
  std::function<Tensor(Recorder&)> target;                   // class indices
  std::function<Tensor(Net&, const Tensor& input)> forward;  // logits
  // What is minimised. A tensor put into `bound` lives until the next call, as a script's local variable does.
  std::function<Tensor(const Tensor& output, const Tensor& target, Tensor& bound)> loss =
      [](const Tensor& logits, const Tensor& classes, Tensor&) { return cross_entropy(logits, classes); };
  // What is added to it where the model has a second output, Net::auxiliary; an auxiliary classifier's by default.
  std::function<Tensor(const Tensor& auxiliary, const Tensor& target)> auxiliary_loss =
      [](const Tensor& logits, const Tensor& classes) { return multiply(cross_entropy(logits, classes)); };
};

// For loops that are not train(): what a trace says of itself, and how its operations are recorded.
// The header of a trace whose kernels take what the roofline of `device` says.
trace::Header roofline_header(const RooflineDevice& device);
trace::Header training_header(const std::string& name, const std::string& sample_unit, const TrainingParameters& p);
Recorder::Options recorder_options(const TrainingParameters& p);
// The parameters that `forward` names, learnt by running it once into a trace that nobody sees.
std::vector<ParameterSpec> parameters_of(const Recorder::Options& options,
                                         const std::function<void(Recorder&, Net&)>& forward);

// Records `iterations` iterations of upload, forward, loss, backward, optimizer step.
trace::Trace train(const Model& model, const TrainingParameters& parameters, int iterations);

}  // namespace uvmsim::dnn
