#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/resnet.h"

namespace uvmsim::dnn {
namespace resnet {
namespace {

Tensor basic_block(Net& net, const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t stride) {
  Tensor out = net.conv(name + ".conv1", x, channels, 3, {.stride = stride, .padding = kSame});
  out = relu_(net.batch_norm(name + ".bn1", out));
  out = net.batch_norm(name + ".bn2", net.conv(name + ".conv2", out, channels, 3, {.padding = kSame}));
  return relu_(add_(out, shortcut(net, name, x, channels, stride)));
}

}  // namespace

Tensor stem(Net& net, const Tensor& images) {
  Tensor x = net.conv("conv1", images, 64, 7, {.stride = 2, .padding = kSame});
  x = relu_(net.batch_norm("bn1", x));
  return max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
}

Tensor shortcut(Net& net, const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t stride) {
  if (stride == 1 && x.shape()[1] == channels) return x;
  const Tensor projected = net.conv(name + ".shortcut", x, channels, 1, {.stride = stride});
  return net.batch_norm(name + ".shortcut_bn", projected);
}

Tensor basic_stages(Net& net, Tensor x, const Shape& blocks, const Shape& strides) {
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (std::int64_t i = 0; i < blocks[stage]; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      x = basic_block(net, name, x, std::int64_t{64} << stage, i == 0 ? strides[stage] : 1);
    }
  return x;
}

}  // namespace resnet

namespace {

bool add_variant(const std::string& layers, const std::string& parameters, const Shape& blocks) {
  const auto forward = [blocks](Net& net, const Tensor& images) {
    const Tensor x = resnet::basic_stages(net, resnet::stem(net, images), blocks, {1, 2, 2, 2});
    return net.linear("fc", global_average_pool(x), kImageNetClasses);
  };
  return register_classifier(
      {.name = "resnet" + layers,
       .summary = "training ResNet-" + layers + " (basic blocks, " + parameters + " M parameters)",
       .source = "He et al., Deep Residual Learning; torchvision, resnet.py",
       .forward = forward});
}

[[maybe_unused]] const bool kRegistered =
    add_variant("18", "11.7", {2, 2, 2, 2}) && add_variant("34", "21.8", {3, 4, 6, 3});

}  // namespace
}  // namespace uvmsim::dnn
