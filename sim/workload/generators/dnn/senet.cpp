#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

// Weighs the channels by what their averages say.
Tensor squeeze_excite(Net& net, const std::string& name, const Tensor& x) {
  const std::int64_t channels = x.shape()[1];
  net.enter(name + ".squeeze");
  Tensor s = adaptive_average_pool(x, 1);
  s = relu_(net.conv(name + ".squeeze", s, channels / 16, 1, {.bias = true}));
  s = sigmoid(net.conv(name + ".excite", s, channels, 1, {.bias = true}));
  return multiply(x, s);
}

struct Unit {
  std::int64_t width = 64, stride = 1, shortcut_kernel = 1;
};

Tensor unit(Net& net, const std::string& name, const Tensor& x, Unit u) {
  Tensor out = relu_(net.batch_norm(name + ".bn1", net.conv(name + ".conv1", x, 2 * u.width, 1)));
  out = net.conv(name + ".conv2", out, 4 * u.width, 3, {.stride = u.stride, .padding = kSame, .groups = 64});
  out = relu_(net.batch_norm(name + ".bn2", out));
  out = net.batch_norm(name + ".bn3", net.conv(name + ".conv3", out, 4 * u.width, 1));
  Tensor residual = x;
  if (u.stride != 1 || x.shape()[1] != 4 * u.width) {
    const Net::ConvOptions options{.stride = u.stride, .padding = kSame};
    residual = net.conv(name + ".shortcut", x, 4 * u.width, u.shortcut_kernel, options);
    residual = net.batch_norm(name + ".shortcut_bn", residual);
  }
  return relu_(add(squeeze_excite(net, name, out), residual));
}

Tensor senet154(Net& net, const Tensor& images) {
  Tensor x = images;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "stem" + std::to_string(i);
    x = net.conv(name + ".conv", x, i < 2 ? 64 : 128, 3, {.stride = i == 0 ? 2 : 1, .padding = kSame});
    x = relu_(net.batch_norm(name + ".bn", x));
  }
  x = max_pool(x, {.kernel = 3, .stride = 2, .round_up = true});
  const std::vector<int> units = {3, 8, 36, 3};
  for (std::size_t stage = 0; stage < units.size(); ++stage)
    for (int i = 0; i < units[stage]; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      x = unit(net, name, x,
               {.width = std::int64_t{64} << stage,
                .stride = stage > 0 && i == 0 ? 2 : 1,
                .shortcut_kernel = stage > 0 ? 3 : 1});
    }
  x = dropout(global_average_pool(x));
  return net.linear("fc", x, kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered =
    register_classifier({.name = "senet154",
                         .summary = "training SENet-154 (squeeze and excitation, 115.1 M parameters)",
                         .source = "Hu et al., Squeeze-and-Excitation Networks; Cadene/pretrained-models, senet.py",
                         .smallest_image = 48,
                         .forward = senet154});

}  // namespace
}  // namespace uvmsim::dnn
