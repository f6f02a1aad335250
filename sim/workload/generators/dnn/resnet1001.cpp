#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

constexpr int kUnitsPerStage = 111;  // 9 n + 2 layers
constexpr std::int64_t kClasses = 10;

// A pre-activation bottleneck. Units that change the shape share their first normalisation with the shortcut.
Tensor unit(Net& net, const std::string& name, const Tensor& input, std::int64_t channels, std::int64_t stride) {
  const std::int64_t width = channels / 4;
  Tensor residual = input;
  Tensor out;
  if (input.shape()[1] == channels && stride == 1) {
    out = relu_(net.batch_norm(name + ".bn1", input));
    out = net.conv(name + ".conv1", out, width, 1);
  } else {
    const Tensor x = relu_(net.batch_norm(name + ".bn1", input));
    residual = net.conv(name + ".shortcut", x, channels, 1, {.stride = stride});
    out = net.conv(name + ".conv1", x, width, 1, {.stride = stride});
  }
  out = relu_(net.batch_norm(name + ".bn2", out));
  out = net.conv(name + ".conv2", out, width, 3, {.padding = 1});
  out = relu_(net.batch_norm(name + ".bn3", out));
  out = net.conv(name + ".conv3", out, channels, 1);
  return add_(out, residual);
}

Tensor forward(Net& net, const Tensor& input) {
  Tensor x = net.conv("stem", input, 16, 3, {.padding = 1});
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < kUnitsPerStage; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      x = unit(net, name, x, std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
    }
  x = relu_(net.batch_norm("bn", x));
  x = global_average_pool(x);
  return net.linear("fc", x, kClasses);
}

[[maybe_unused]] const bool kRegistered = register_classifier(
    {.name = "resnet1001",
     .summary = "training ResNet-1001 (pre-activation, in-place ReLU and addition, 10.3 M parameters)",
     .source = "KaimingHe/resnet-1k-layers, resnet-pre-act.lua",
     .defaults = {.batch = 48},
     .image = 64,
     .smallest_image = 8,
     .image_doc = "width and height of the input; 64 is inferred from published batch limits",
     .forward = forward});

}  // namespace
}  // namespace uvmsim::dnn
