#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

constexpr std::int64_t kClasses = 10;

struct Parameters : ClassifierParameters {
  Parameters() {
    batch = 128;
    image = 32;
    torch = "2.x";
  }
  std::int64_t depth = 110;
};

// Every second pixel, with as many channels of zeros behind those there are.
Tensor shortcut(Net& net, const std::string& name, const Tensor& x) {
  net.enter(name + ".shortcut");
  const Tensor sampled = average_pool(x, {.kernel = 1, .stride = 2});
  return concat({sampled, multiply(sampled)});
}

Tensor unit(Net& net, const std::string& name, const Tensor& x, std::int64_t channels) {
  const bool halves = x.shape()[1] != channels;
  Tensor out = net.conv(name + ".conv1", x, channels, 3, {.stride = halves ? 2 : 1, .padding = kSame});
  out = relu_(net.batch_norm(name + ".bn1", out));
  out = net.batch_norm(name + ".bn2", net.conv(name + ".conv2", out, channels, 3, {.padding = kSame}));
  return relu_(add_(out, halves ? shortcut(net, name, x) : x));
}

Tensor forward(Net& net, const Tensor& images, std::int64_t depth) {
  Tensor x = relu_(net.batch_norm("bn", net.conv("conv", images, 16, 3, {.padding = kSame})));
  for (int stage = 0; stage < 3; ++stage)
    for (std::int64_t i = 0; i < (depth - 2) / 6; ++i)
      x = unit(net, "stage" + std::to_string(stage) + ".unit" + std::to_string(i), x, std::int64_t{16} << stage);
  return net.linear("fc", global_average_pool(x), kClasses);
}

class CifarResNet final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training a ResNet of 3x3 convolutions on images of CIFAR")
            .integer("image", &Parameters::image, "width and height of the input", {4, {}}, "pixels")
            .integer("depth", &Parameters::depth, "layers: 6 n + 2", {8, 10'000}, "layers")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (p_.depth % 6 == 2) return {};
    return {"expected depth to be 6 n + 2: each of three stages has n units of two layers"};
  }

  trace::Trace generate(int iterations) const override {
    const auto of_depth = [this](Net& net, const Tensor& x) { return forward(net, x, p_.depth); };
    return train_classifier("resnet_cifar", of_depth, p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, CifarResNet>(
    {.name = "resnet_cifar",
     .summary = "training a ResNet of 6 n + 2 layers for CIFAR (ResNet-110 has 1.7 M parameters)",
     .source = "He et al., Deep Residual Learning, section 4.2; facebook/fb.resnet.torch, models/resnet.lua"});

}  // namespace
}  // namespace uvmsim::dnn
