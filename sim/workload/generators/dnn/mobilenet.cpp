#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

struct Convolution {
  std::int64_t channels, kernel = 1, stride = 1, groups = 1;
};

// A convolution, normalisation and ReLU6, which costs what ReLU does.
Tensor conv_norm_relu(Net& net, const std::string& name, const Tensor& x, const Convolution& c) {
  const Net::ConvOptions options{.stride = c.stride, .padding = kSame, .groups = c.groups};
  return relu_(net.batch_norm(name + ".bn", net.conv(name + ".conv", x, c.channels, c.kernel, options)));
}

// Filters each channel by itself.
Tensor depthwise(Net& net, const std::string& name, const Tensor& x, std::int64_t stride) {
  const std::int64_t channels = x.shape()[1];
  return conv_norm_relu(net, name, x, {.channels = channels, .kernel = 3, .stride = stride, .groups = channels});
}

struct Layer {
  std::int64_t channels, stride;
};

Tensor mobilenet_v1(Net& net, const Tensor& images) {
  constexpr Layer kLayers[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                               {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  Tensor x = conv_norm_relu(net, "stem", images, {.channels = 32, .kernel = 3, .stride = 2});
  for (std::size_t i = 0; i < std::size(kLayers); ++i) {
    const std::string name = "layer" + std::to_string(i);
    x = depthwise(net, name + ".depthwise", x, kLayers[i].stride);
    x = conv_norm_relu(net, name + ".pointwise", x, {.channels = kLayers[i].channels});
  }
  return net.linear("fc", global_average_pool(x), kImageNetClasses);
}

// Expands, filters and projects, without an activation at the end.
Tensor inverted_residual(Net& net, const std::string& name, const Tensor& x, const Layer& layer,
                         std::int64_t expansion) {
  Tensor out = x;
  if (expansion > 1) out = conv_norm_relu(net, name + ".expand", x, {.channels = expansion * x.shape()[1]});
  out = depthwise(net, name + ".depthwise", out, layer.stride);
  out = net.batch_norm(name + ".project_bn", net.conv(name + ".project", out, layer.channels, 1));
  return layer.stride == 1 && x.shape()[1] == layer.channels ? add(x, out) : out;
}

Tensor mobilenet_v2(Net& net, const Tensor& images) {
  constexpr struct {
    std::int64_t expansion;
    Layer first;  // the others of its stage have a stride of 1
    int layers;
  } kStages[] = {{1, {16, 1}, 1}, {6, {24, 2}, 2},  {6, {32, 2}, 3}, {6, {64, 2}, 4},
                 {6, {96, 1}, 3}, {6, {160, 2}, 3}, {6, {320, 1}, 1}};
  Tensor x = conv_norm_relu(net, "stem", images, {.channels = 32, .kernel = 3, .stride = 2});
  for (std::size_t stage = 0; stage < std::size(kStages); ++stage)
    for (int i = 0; i < kStages[stage].layers; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".layer" + std::to_string(i);
      const Layer layer = {kStages[stage].first.channels, i == 0 ? kStages[stage].first.stride : 1};
      x = inverted_residual(net, name, x, layer, kStages[stage].expansion);
    }
  x = conv_norm_relu(net, "head", x, {.channels = 1280});
  return net.linear("fc", dropout(global_average_pool(x)), kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered =
    register_classifier({.name = "mobilenet_v1",
                         .summary = "training MobileNet (4.2 M parameters)",
                         .source = "Howard et al., MobileNets, table 1",
                         .max_pools = false,
                         .forward = mobilenet_v1}) &&
    register_classifier({.name = "mobilenet_v2",
                         .summary = "training MobileNet-v2 (3.5 M parameters)",
                         .source = "Sandler et al., MobileNetV2; torchvision, mobilenetv2.py",
                         .max_pools = false,
                         .forward = mobilenet_v2});

}  // namespace
}  // namespace uvmsim::dnn
