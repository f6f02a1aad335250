// A model's parameters by name, and its layers: what `self` holds in a PyTorch module.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {

// What a parameter looks like, without its storage.
struct ParameterSpec {
  std::string name;
  Shape shape;
  DataType type = DataType::Float32;
};

// Layers name their parameters; a parameter is allocated when it is first named. PyTorch allocates all of them
// before the first iteration: so a model is run twice, first for its specs, then with a Net made from them.
class Net {
 public:
  explicit Net(Recorder& recorder, const std::vector<ParameterSpec>& specs = {});

  // The layers. `name` is unique in the model; a layer named twice shares its parameters.
  struct ConvOptions {
    std::int64_t stride = 1, padding = 0;  // padding: kSame keeps the extents of a stride of 1
    std::int64_t groups = 1;
    bool transposed = false;
    bool bias = false;
  };
  Tensor conv(const std::string& name, const Tensor& x, std::int64_t out_channels, const Shape& kernel,
              ConvOptions options);
  // With a kernel of the same extent in all dimensions.
  Tensor conv(const std::string& name, const Tensor& x, std::int64_t out_channels, std::int64_t kernel,
              ConvOptions options) {
    return conv(name, x, out_channels, Shape(x.shape().size() - 2, kernel), options);
  }
  Tensor conv(const std::string& name, const Tensor& x, std::int64_t out_channels, std::int64_t kernel) {
    return conv(name, x, out_channels, kernel, ConvOptions{});
  }
  Tensor batch_norm(const std::string& name, const Tensor& x);
  Tensor linear(const std::string& name, const Tensor& x, std::int64_t out, bool bias = true);
  Tensor layer_norm(const std::string& name, const Tensor& x);
  Tensor prelu(const std::string& name, const Tensor& x);

  // For operations without a method here: what follows belongs to the layer `name`.
  void enter(const std::string& name) { recorder_.enter(name); }

  // The parameter `name`; the same one whenever it is named.
  const Tensor& parameter(const std::string& name, Shape shape, DataType type);
  const Tensor& parameter(const std::string& name, Shape shape) {
    return parameter(name, std::move(shape), recorder_.type());
  }

  // A second output for the loss, as an auxiliary classifier's logits; None without one. A script keeps it as its
  // output.
  Tensor auxiliary;

  Recorder& recorder() { return recorder_; }
  std::deque<Parameter>& parameters() { return parameters_; }  // in the order of their allocation
  std::vector<ParameterSpec> specs() const;

 private:
  const Tensor& buffer(const std::string& name, Shape shape);

  Recorder& recorder_;
  std::deque<Parameter> parameters_;  // a deque: tensors point to their parameter
  std::map<std::string, Parameter*> by_name_;
  std::map<std::string, Tensor> buffers_;
};

}  // namespace uvmsim::dnn
