#include "workload/generators/dnn/net.h"

namespace uvmsim::dnn {

Net::Net(Recorder& recorder, const std::vector<ParameterSpec>& specs) : recorder_(recorder) {
  for (const ParameterSpec& spec : specs) parameter(spec.name, spec.shape, spec.type);
}

Tensor Net::conv(const std::string& name, const Tensor& x, std::int64_t out_channels, const Shape& kernel,
                 ConvOptions options) {
  enter(name);
  Shape shape = {out_channels, x.shape()[1] / options.groups};
  if (options.transposed) shape = {x.shape()[1], out_channels / options.groups};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const Tensor& weight = parameter(name + ".weight", std::move(shape), recorder_.type());
  const Tensor bias = options.bias ? parameter(name + ".bias", {out_channels}, recorder_.type()) : Tensor();
  return dnn::conv(x, weight, bias, {options.stride, options.padding, options.groups, options.transposed});
}

// Scale, shift and statistics stay in single precision under mixed precision.
Tensor Net::batch_norm(const std::string& name, const Tensor& x) {
  enter(name);
  const Shape channels = {x.shape()[1]};
  const Tensor& weight = parameter(name + ".weight", channels, DataType::Float32);
  const Tensor& bias = parameter(name + ".bias", channels, DataType::Float32);
  const Tensor& mean = buffer(name + ".running_mean", channels);
  const Tensor& variance = buffer(name + ".running_var", channels);
  return dnn::batch_norm(x, {weight, bias, mean, variance});
}

Tensor Net::linear(const std::string& name, const Tensor& x, std::int64_t out, bool bias) {
  enter(name);
  const Tensor& weight = parameter(name + ".weight", {out, x.shape().back()}, recorder_.type());
  return dnn::linear(x, weight, bias ? parameter(name + ".bias", {out}, recorder_.type()) : Tensor());
}

Tensor Net::prelu(const std::string& name, const Tensor& x) {
  enter(name);
  return dnn::prelu(x, parameter(name + ".weight", {x.shape()[1]}));
}

Tensor Net::layer_norm(const std::string& name, const Tensor& x) {
  enter(name);
  const Shape width = {x.shape().back()};
  const Tensor& weight = parameter(name + ".weight", width);
  return dnn::layer_norm(x, weight, parameter(name + ".bias", width));
}

std::vector<ParameterSpec> Net::specs() const {
  std::vector<ParameterSpec> specs;
  for (const Parameter& p : parameters_) specs.push_back({p.name, p.value.shape(), p.value.type()});
  return specs;
}

const Tensor& Net::parameter(const std::string& name, Shape shape, DataType type) {
  Parameter*& entry = by_name_[name];
  if (entry == nullptr) {
    entry = &parameters_.emplace_back();
    entry->name = name;
    entry->value = Tensor(recorder_, std::move(shape), type, TensorKind::Param);
    entry->value.parameter = entry;
  }
  if (entry->layer < 0) entry->layer = recorder_.layer();
  return entry->value;
}

const Tensor& Net::buffer(const std::string& name, Shape shape) {
  Tensor& entry = buffers_[name];
  if (!entry) entry = Tensor(recorder_, std::move(shape), DataType::Float32, TensorKind::Param);
  return entry;
}

}  // namespace uvmsim::dnn
