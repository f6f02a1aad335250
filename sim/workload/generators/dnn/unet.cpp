#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 8;
    torch = "2.x";
  }
  std::int64_t image = 512;
};

constexpr std::int64_t kClasses = 2;
constexpr int kLevels = 4;  // of halving

Tensor two_convolutions(Net& net, const std::string& name, const Tensor& x, std::int64_t channels) {
  Tensor h = x;
  for (int i = 0; i < 2; ++i) {
    const std::string layer = name + ".conv" + std::to_string(i);
    h = relu_(net.batch_norm(layer + "_norm", net.conv(layer, h, channels, 3, {.padding = kSame})));
  }
  return h;
}

Tensor forward(Net& net, const Tensor& images) {
  std::vector<Tensor> skips = {two_convolutions(net, "in", images, 64)};
  for (int level = 1; level <= kLevels; ++level) {
    const std::string name = "down" + std::to_string(level);
    net.enter(name + ".pool");
    skips.push_back(two_convolutions(net, name, max_pool(skips.back(), {}), std::int64_t{64} << level));
  }
  Tensor x = skips.back();
  for (int level = kLevels - 1; level >= 0; --level) {
    const std::string name = "up" + std::to_string(level);
    const std::int64_t channels = std::int64_t{64} << level;
    x = net.conv(name + ".up", x, channels, 2, {.stride = 2, .transposed = true, .bias = true});
    x = two_convolutions(net, name, concat({skips[static_cast<std::size_t>(level)], x}), channels);
  }
  x = net.conv("logits", x, kClasses, 1, {.bias = true});
  return reshape(x, {x.count() / kClasses, kClasses});  // as the loss counts them: a pixel and its classes
}

class UNet final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>(
            "training U-Net with batch normalisation, padded and with transposed convolutions", true)
            .integer("image", &Parameters::image, "width and height of the input, a multiple of 16", {16, {}}, "pixels")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (p_.image % 16 == 0) return {};
    return {"expected image to be a multiple of 16: U-Net halves it four times"};
  }

  trace::Trace generate(int iterations) const override {
    const Shape images = {p_.batch, 3, p_.image, p_.image};
    const std::int64_t pixels = p_.batch * p_.image * p_.image;
    const auto input = [images](Recorder& r) { return Tensor(r, images, r.type(), TensorKind::Input); };
    const auto target = [pixels](Recorder& r) { return Tensor(r, {pixels}, DataType::Int64, TensorKind::Input); };
    return train({.name = "unet", .input = input, .target = target, .forward = forward}, p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, UNet>({.name = "unet",
                                  .summary = "training U-Net on images (2 classes, 31.0 M parameters)",
                                  .source = "Ronneberger et al., U-Net; milesial/Pytorch-UNet"});

}  // namespace
}  // namespace uvmsim::dnn
