#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

constexpr std::int64_t kGrowth = 32;

// Returns its input with the new features behind it, as torchvision did before it made concatenation lazy.
Tensor dense_layer(Net& net, const std::string& name, const Tensor& x) {
  Tensor h = relu_(net.batch_norm(name + ".norm1", x));
  h = net.conv(name + ".conv1", h, 4 * kGrowth, 1);
  h = relu_(net.batch_norm(name + ".norm2", h));
  h = net.conv(name + ".conv2", h, kGrowth, 3, {.padding = kSame});
  return concat({x, h});
}

Tensor transition(Net& net, const std::string& name, const Tensor& input) {
  Tensor x = relu_(net.batch_norm(name + ".norm", input));
  x = net.conv(name + ".conv", x, x.shape()[1] / 2, 1);
  return average_pool(x, {});
}

Tensor densenet(Net& net, const Tensor& images, const std::vector<int>& layers) {
  Tensor x = net.conv("stem.conv", images, 2 * kGrowth, 7, {.stride = 2, .padding = kSame});
  x = relu_(net.batch_norm("stem.norm", x));
  x = max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (std::size_t block = 0; block < layers.size(); ++block) {
    const std::string name = "block" + std::to_string(block);
    if (block > 0) x = transition(net, "transition" + std::to_string(block - 1), x);
    for (int i = 0; i < layers[block]; ++i) x = dense_layer(net, name + ".layer" + std::to_string(i), x);
  }
  x = relu_(net.batch_norm("norm", x));
  x = global_average_pool(x);
  return net.linear("classifier", x, kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered = register_classifier(
    {.name = "densenet264",
     .summary = "training DenseNet-264 (growth 32, in-place ReLU, 33.3 M parameters)",
     .source = "Huang et al., Densely Connected Convolutional Networks; torchvision 0.2, densenet.py",
     .defaults = {.batch = 109},
     .forward = [](Net& net, const Tensor& x) {
       return densenet(net, x, {6, 12, 64, 48});
     }});

}  // namespace
}  // namespace uvmsim::dnn
