#include "workload/generators/dnn/resnet.h"

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
  return relu_(add_(out, resnet::shortcut(net, name, x, b.out_channels, b.stride)));
}

// `blocks` bottlenecks in each stage, whose 3x3 convolutions are `widening` times as wide as those of ResNet-50.
Tensor of_bottlenecks(Net& net, const Tensor& images, const Shape& blocks, std::int64_t widening) {
  Tensor x = resnet::stem(net, images);
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
    const auto forward = [this](Net& net, const Tensor& x) {
      return of_bottlenecks(net, x, p_.all_blocks(), p_.widening);
    };
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
       .forward = [blocks](Net& net, const Tensor& x) { return of_bottlenecks(net, x, blocks, 1); }});
}

bool add_wide_variant(const std::string& layers, const std::string& parameters, const Shape& blocks) {
  return register_classifier(
      {.name = "wide_resnet" + layers + "_2",
       .summary = "training Wide ResNet-" + layers + "-2 (bottlenecks, " + parameters + " M parameters)",
       .source = "Zagoruyko and Komodakis, Wide Residual Networks; torchvision, resnet.py",
       .forward = [blocks](Net& net, const Tensor& x) { return of_bottlenecks(net, x, blocks, 2); }});
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
