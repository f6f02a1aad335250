#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

// Normalises each pixel over its channels: (N, C, H, W) to itself. LayerNorm wants the channels last, so it copies;
// the result keeps that order in memory.
Tensor channel_norm(Net& net, const std::string& name, const Tensor& x) {
  const Shape s = x.shape();
  net.enter(name);
  return reshape(net.layer_norm(name, permute(x, {s[0], s[2], s[3], s[1]})), s);
}

Tensor block(Net& net, const std::string& name, const Tensor& x, bool may_be_dropped) {
  const Shape s = x.shape();
  const std::int64_t width = s[1];
  Tensor h = net.conv(name + ".conv", x, width, 7, {.padding = kSame, .groups = width, .bias = true});
  h = permute(h, {s[0], s[2], s[3], width});
  h = net.layer_norm(name + ".norm", h);
  h = gelu(net.linear(name + ".fc0", h, 4 * width));
  h = reshape(net.linear(name + ".fc1", h, width), s);
  h = multiply(h, net.parameter(name + ".layer_scale", {width, 1, 1}));
  if (may_be_dropped) h = drop_slices(h, {s[0]});
  return add_(h, x);
}

struct Variant {
  std::vector<int> depths;
  std::vector<std::int64_t> widths;
};

Tensor convnext(Net& net, const Tensor& images, const Variant& variant) {
  Tensor x = net.conv("stem.conv", images, variant.widths[0], 4, {.stride = 4, .bias = true});
  x = channel_norm(net, "stem.norm", x);
  for (std::size_t stage = 0; stage < variant.depths.size(); ++stage) {
    const std::string name = "stage" + std::to_string(stage);
    if (stage > 0) {
      x = channel_norm(net, name + ".downsample_norm", x);
      x = net.conv(name + ".downsample", x, variant.widths[stage], 2, {.stride = 2, .bias = true});
    }
    for (int i = 0; i < variant.depths[stage]; ++i)
      x = block(net, name + ".block" + std::to_string(i), x, stage > 0 || i > 0);
  }
  net.enter("pool");
  x = global_average_pool(x);
  return net.linear("head", net.layer_norm("norm", x), kImageNetClasses);
}

bool add_variant(const std::string& letter, const std::string& parameters, const Variant& variant) {
  return register_classifier({.name = "convnext_" + letter,
                              .summary = "training ConvNeXt-" + letter + " (" + parameters + " M parameters)",
                              .source = "Liu et al., A ConvNet for the 2020s; torchvision, convnext.py",
                              .defaults = {.batch = 32, .optimizer = "adamw", .torch = "2.x"},
                              .max_pools = false,
                              .forward = [variant](Net& net, const Tensor& x) { return convnext(net, x, variant); }});
}

[[maybe_unused]] const bool kRegistered = add_variant("t", "28.6", {{3, 3, 9, 3}, {96, 192, 384, 768}}) &&
                                          add_variant("s", "50.2", {{3, 3, 27, 3}, {96, 192, 384, 768}}) &&
                                          add_variant("b", "88.6", {{3, 3, 27, 3}, {128, 256, 512, 1024}}) &&
                                          add_variant("l", "197.8", {{3, 3, 27, 3}, {192, 384, 768, 1536}});

}  // namespace
}  // namespace uvmsim::dnn
