#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

constexpr std::int64_t kDepth = 1001;  // 9 n + 2 layers, n units in each of three stages
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

Tensor forward(Net& net, const Tensor& input, std::int64_t depth) {
  Tensor x = net.conv("stem", input, 16, 3, {.padding = 1});
  for (int stage = 0; stage < 3; ++stage)
    for (std::int64_t i = 0; i < (depth - 2) / 9; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      x = unit(net, name, x, std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
    }
  x = relu_(net.batch_norm("bn", x));
  x = global_average_pool(x);
  return net.linear("fc", x, kClasses);
}

constexpr const char* kSource = "KaimingHe/resnet-1k-layers, resnet-pre-act.lua";

struct Parameters : ClassifierParameters {
  Parameters() {
    batch = 128;
    image = 32;
  }
  std::int64_t depth = 164;
};

class PreActivationResNet final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training a pre-activation ResNet of any depth on images of CIFAR")
            .integer("image", &Parameters::image, "width and height of the input", {8, {}}, "pixels")
            .integer("depth", &Parameters::depth, "layers: 9 n + 2", {11, 10'000}, "layers")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (p_.depth % 9 == 2) return {};
    return {"expected depth to be 9 n + 2: each of three stages has n units of three layers"};
  }

  trace::Trace generate(int iterations) const override {
    const auto of_depth = [this](Net& net, const Tensor& x) { return forward(net, x, p_.depth); };
    return train_classifier("resnet_preact", of_depth, p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered =
    register_classifier(
        {.name = "resnet1001",
         .summary = "training ResNet-1001 (pre-activation, in-place ReLU and addition, 10.3 M parameters)",
         .source = kSource,
         .defaults = {.batch = 48},
         .image = 64,
         .smallest_image = 8,
         .image_doc = "width and height of the input; 64 is inferred from published batch limits",
         .max_pools = false,
         .forward = [](Net& net, const Tensor& x) { return forward(net, x, kDepth); }}) &&
    add_plug_in<Generator, PreActivationResNet>(
        {.name = "resnet_preact",
         .summary = "training a pre-activation ResNet of any depth (ResNet-164 has 1.7 M parameters)",
         .source = kSource});

}  // namespace
}  // namespace uvmsim::dnn
