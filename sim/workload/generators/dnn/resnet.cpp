#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

// A bottleneck whose stride is in its 3x3 convolution.
Tensor bottleneck(Net& net, const std::string& name, const Tensor& x, std::int64_t width, std::int64_t stride) {
  Tensor out = relu_(net.batch_norm(name + ".bn1", net.conv(name + ".conv1", x, width, 1)));
  out = net.conv(name + ".conv2", out, width, 3, {.stride = stride, .padding = kSame});
  out = relu_(net.batch_norm(name + ".bn2", out));
  out = net.batch_norm(name + ".bn3", net.conv(name + ".conv3", out, 4 * width, 1));
  Tensor identity = x;
  if (stride != 1 || x.shape()[1] != 4 * width)
    identity = net.batch_norm(name + ".shortcut_bn", net.conv(name + ".shortcut", x, 4 * width, 1, {.stride = stride}));
  return relu_(add_(out, identity));
}

Tensor resnet(Net& net, const Tensor& images, const std::vector<int>& blocks) {
  Tensor x = net.conv("conv1", images, 64, 7, {.stride = 2, .padding = kSame});
  x = relu_(net.batch_norm("bn1", x));
  x = max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      x = bottleneck(net, name, x, std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
    }
  return net.linear("fc", global_average_pool(x), kImageNetClasses);
}

bool add_variant(const std::string& layers, const std::string& parameters, std::vector<int> blocks) {
  return register_classifier(
      {.name = "resnet" + layers,
       .summary = "training ResNet-" + layers + " (bottlenecks, " + parameters + " M parameters)",
       .source = "He et al., Deep Residual Learning; torchvision, resnet.py",
       .forward = [blocks](Net& net, const Tensor& x) { return resnet(net, x, blocks); }});
}

[[maybe_unused]] const bool kRegistered = add_variant("50", "25.6", {3, 4, 6, 3}) &&
                                          add_variant("101", "44.5", {3, 4, 23, 3}) &&
                                          add_variant("152", "60.2", {3, 8, 36, 3});

}  // namespace
}  // namespace uvmsim::dnn
