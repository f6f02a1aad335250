#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/ops_sequence.h"

namespace uvmsim::dnn {
namespace {

constexpr std::int64_t kUnits[] = {4, 8, 4};

Tensor pointwise(Net& net, const std::string& name, const Tensor& x, std::int64_t channels) {
  return relu_(net.batch_norm(name + ".bn", net.conv(name + ".conv", x, channels, 1)));
}

// Filters each channel by itself, without an activation.
Tensor depthwise(Net& net, const std::string& name, const Tensor& x, std::int64_t stride) {
  const std::int64_t channels = x.shape()[1];
  const Net::ConvOptions options{.stride = stride, .padding = kSame, .groups = channels};
  return net.batch_norm(name + ".bn", net.conv(name + ".conv", x, channels, 3, options));
}

Tensor branch(Net& net, const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t stride) {
  const Tensor out = depthwise(net, name + ".depthwise", pointwise(net, name + ".first", x, channels), stride);
  return pointwise(net, name + ".last", out, channels);
}

// Halves the extents: both branches see all channels.
Tensor halving(Net& net, const std::string& name, const Tensor& x, std::int64_t channels) {
  const Tensor left = pointwise(net, name + ".left", depthwise(net, name + ".left_depthwise", x, 2), channels);
  return concat({left, branch(net, name, x, channels, 2)});
}

// One half of the channels passes by.
Tensor unit(Net& net, const std::string& name, const Tensor& x) {
  net.enter(name + ".split");
  const std::vector<Tensor> halves = split(x, 2, 1);
  return concat({halves[0], branch(net, name, halves[1], halves[1].shape()[1], 1)});
}

// Channels of both branches take turns: a view, transposed and copied.
Tensor shuffle(const Tensor& x) { return permute(x, x.shape()); }

struct Widths {
  std::int64_t first, head;  // of the first stage, and before the classifier
};

Tensor shufflenet(Net& net, const Tensor& images, Widths widths) {
  Tensor x = net.conv("stem.conv", images, 24, 3, {.stride = 2, .padding = kSame});
  x = max_pool(relu_(net.batch_norm("stem.bn", x)), {.kernel = 3, .stride = 2, .padding = 1});
  for (std::size_t stage = 0; stage < std::size(kUnits); ++stage)
    for (std::int64_t i = 0; i < kUnits[stage]; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      x = shuffle(i == 0 ? halving(net, name, x, (widths.first << stage) / 2) : unit(net, name, x));
    }
  return net.linear("fc", global_average_pool(pointwise(net, "head", x, widths.head)), kImageNetClasses);
}

// `suffix`: of torchvision's name.
bool add_variant(const std::string& suffix, const std::string& width, const std::string& parameters, Widths widths) {
  return register_classifier(
      {.name = "shufflenet_v2_" + suffix,
       .summary = "training ShuffleNet-v2, " + width + " times as wide (" + parameters + " M parameters)",
       .source = "Ma et al., ShuffleNet V2, table 5; torchvision, shufflenetv2.py",
       .forward = [widths](Net& net, const Tensor& x) { return shufflenet(net, x, widths); }});
}

[[maybe_unused]] const bool kRegistered =
    add_variant("x0_5", "0.5", "1.4", {48, 1024}) && add_variant("x1_0", "1", "2.3", {116, 1024}) &&
    add_variant("x1_5", "1.5", "3.5", {176, 1024}) && add_variant("x2_0", "2", "7.4", {244, 2048});

}  // namespace
}  // namespace uvmsim::dnn
