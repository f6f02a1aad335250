#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

struct Bottleneck {
  std::int64_t width, out_channels, stride;  // width: of the 3x3 convolution
};

// Its stride is in its 3x3 convolution.
Tensor bottleneck(Net& net, const std::string& name, const Tensor& x, const Bottleneck& b) {
  Tensor out = relu_(net.batch_norm(name + ".bn1", net.conv(name + ".conv1", x, b.width, 1)));
  out = net.conv(name + ".conv2", out, b.width, 3, {.stride = b.stride, .padding = kSame});
  out = relu_(net.batch_norm(name + ".bn2", out));
  out = net.batch_norm(name + ".bn3", net.conv(name + ".conv3", out, b.out_channels, 1));
  Tensor identity = x;
  if (b.stride != 1 || x.shape()[1] != b.out_channels) {
    identity = net.conv(name + ".shortcut", x, b.out_channels, 1, {.stride = b.stride});
    identity = net.batch_norm(name + ".shortcut_bn", identity);
  }
  return relu_(add_(out, identity));
}

// `blocks` bottlenecks in each stage, whose 3x3 convolutions are `widening` times as wide as those of ResNet-50.
Tensor resnet(Net& net, const Tensor& images, const Shape& blocks, std::int64_t widening) {
  Tensor x = net.conv("conv1", images, 64, 7, {.stride = 2, .padding = kSame});
  x = relu_(net.batch_norm("bn1", x));
  x = max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (std::int64_t i = 0; i < blocks[stage]; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      const std::int64_t channels = std::int64_t{64} << stage;
      x = bottleneck(net, name, x, {channels * widening, 4 * channels, stage > 0 && i == 0 ? 2 : 1});
    }
  return net.linear("fc", global_average_pool(x), kImageNetClasses);
}

struct Parameters : ClassifierParameters {
  Parameters() {
    batch = 32;
    torch = "2.x";
  }
  Shape blocks = {3, 4, 6, 3};
  std::int64_t deeper = 0, widening = 1;

  Shape all_blocks() const {
    Shape all = blocks;
    all[all.size() > 1 ? all.size() - 2 : 0] += deeper;
    return all;
  }
};

// Any depth: 3 layers in each bottleneck, and 2.
class ResNet final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training a ResNet of bottlenecks, of any depth and width", true)
            .integer("image", &Parameters::image, "width and height of the input", {32, {}}, "pixels")
            .integers("blocks", &Parameters::blocks,
                      "bottlenecks of each stage; each is twice as wide as the one before", {1, {}})
            .integer("deeper", &Parameters::deeper,
                     "bottlenecks more in the last stage but one, by which ResNets get deeper (He et al., table 1)",
                     {0, 100'000}, "bottlenecks")
            .integer("widening", &Parameters::widening, "of the 3x3 convolutions", {1, {}}, "times")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (!p_.blocks.empty() && p_.blocks.size() <= kMostStages) return {};
    return {"expected 1 to 8 numbers in blocks, one for each stage: got " + std::to_string(p_.blocks.size())};
  }

  trace::Trace generate(int iterations) const override {
    const auto forward = [this](Net& net, const Tensor& x) { return resnet(net, x, p_.all_blocks(), p_.widening); };
    return train_classifier("resnet", forward, p_, iterations);
  }

 private:
  static constexpr std::size_t kMostStages = 8;
};

bool add_variant(const std::string& layers, const std::string& parameters, const Shape& blocks) {
  return register_classifier(
      {.name = "resnet" + layers,
       .summary = "training ResNet-" + layers + " (bottlenecks, " + parameters + " M parameters)",
       .source = "He et al., Deep Residual Learning; torchvision, resnet.py",
       .forward = [blocks](Net& net, const Tensor& x) { return resnet(net, x, blocks, 1); }});
}

bool add_wide_variant(const std::string& layers, const std::string& parameters, const Shape& blocks) {
  return register_classifier(
      {.name = "wide_resnet" + layers + "_2",
       .summary = "training Wide ResNet-" + layers + "-2 (bottlenecks, " + parameters + " M parameters)",
       .source = "Zagoruyko and Komodakis, Wide Residual Networks; torchvision, resnet.py",
       .forward = [blocks](Net& net, const Tensor& x) { return resnet(net, x, blocks, 2); }});
}

[[maybe_unused]] const bool kRegistered =
    add_variant("50", "25.6", {3, 4, 6, 3}) && add_variant("101", "44.5", {3, 4, 23, 3}) &&
    add_variant("152", "60.2", {3, 8, 36, 3}) && add_wide_variant("50", "68.9", {3, 4, 6, 3}) &&
    add_wide_variant("101", "126.9", {3, 4, 23, 3}) &&
    add_plug_in<Generator, ResNet>({.name = "resnet",
                                    .summary = "training a ResNet of bottlenecks, of any depth and width",
                                    .source = "He et al., Deep Residual Learning; Zagoruyko and Komodakis, Wide "
                                              "Residual Networks; torchvision, resnet.py"});

}  // namespace
}  // namespace uvmsim::dnn
