#include "workload/generators/dnn/inception.h"

namespace uvmsim::dnn::inception {
namespace {

Tensor apply(Net& net, const std::string& name, const Tensor& x, const Step& step) {
  if (step.channels == 0) {
    net.enter(name);
    const std::int64_t kernel = step.kernel[0];
    const PoolShape pool{kernel, step.stride, step.padding == kSame ? kernel / 2 : step.padding, step.round_up};
    return step.maximum ? max_pool(x, pool) : average_pool(x, pool);
  }
  const Net::ConvOptions options{.stride = step.stride, .padding = step.padding, .bias = !step.normalised};
  const Tensor y = net.conv(name + ".conv", x, step.channels, step.kernel, options);
  return relu_(step.normalised ? net.batch_norm(name + ".bn", y) : y);
}

}  // namespace

Tensor chain(Net& net, const std::string& name, const Tensor& x, const Branch& steps) {
  Tensor out = x;
  for (std::size_t i = 0; i < steps.size(); ++i) out = apply(net, name + "." + std::to_string(i), out, steps[i]);
  return out;
}

Tensor block(Net& net, const std::string& name, const Tensor& x, const std::vector<Branch>& branches) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < branches.size(); ++i)
    parts.push_back(chain(net, name + ".branch" + std::to_string(i), x, branches[i]));
  return concat(parts);
}

}  // namespace uvmsim::dnn::inception
