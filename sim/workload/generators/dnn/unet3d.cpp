#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() { torch = "2.x"; }
  std::int64_t volume = 128;
};

constexpr std::int64_t kChannels = 3, kClasses = 3;  // of the paper's Xenopus kidneys
constexpr int kLevels = 3;                           // of halving

Tensor conv_norm_relu(Net& net, const std::string& name, const Tensor& x, std::int64_t channels) {
  const Tensor h = net.conv(name, x, channels, 3, {.padding = kSame, .bias = true});
  return relu_(net.batch_norm(name + "_norm", h));
}

// Channels double before the pooling, not behind it.
Tensor analysis(Net& net, const std::string& name, const Tensor& x, std::int64_t channels) {
  return conv_norm_relu(net, name + ".conv1", conv_norm_relu(net, name + ".conv0", x, channels), 2 * channels);
}

Tensor synthesis(Net& net, const std::string& name, const Tensor& x, const Tensor& skip) {
  const std::int64_t channels = skip.shape()[1];
  const Tensor up = net.conv(name + ".up", x, x.shape()[1], 2, {.stride = 2, .transposed = true});
  const Tensor h = conv_norm_relu(net, name + ".conv0", concat({skip, up}), channels);
  return conv_norm_relu(net, name + ".conv1", h, channels);
}

Tensor forward(Net& net, const Tensor& volume) {
  std::vector<Tensor> skips = {analysis(net, "in", volume, 32)};
  for (int level = 1; level <= kLevels; ++level) {
    const std::string name = "down" + std::to_string(level);
    net.enter(name + ".pool");
    skips.push_back(analysis(net, name, max_pool(skips.back(), {}), std::int64_t{32} << level));
  }
  Tensor x = skips.back();
  for (int level = kLevels - 1; level >= 0; --level)
    x = synthesis(net, "up" + std::to_string(level), x, skips[static_cast<std::size_t>(level)]);
  x = net.conv("logits", x, kClasses, 1, {.bias = true});
  return permute(x, {x.count() / kClasses, kClasses});  // a voxel and its classes in a row
}

class UNet3d final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>(
            "training 3-D U-Net with batch normalisation, padded and with transposed convolutions", true)
            .integer("volume", &Parameters::volume, "extent of the cube in each dimension, a multiple of 8", {8, {}},
                     "voxels")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (p_.volume % 8 == 0) return {};
    return {"expected volume to be a multiple of 8: 3-D U-Net halves it three times"};
  }

  trace::Trace generate(int iterations) const override {
    const Shape cube = {p_.batch, kChannels, p_.volume, p_.volume, p_.volume};
    const std::int64_t voxels = p_.batch * p_.volume * p_.volume * p_.volume;
    const auto input = [cube](Recorder& r) { return Tensor(r, cube, r.type(), TensorKind::Input); };
    const auto target = [voxels](Recorder& r) { return Tensor(r, {voxels}, DataType::Int64, TensorKind::Input); };
    return train({.name = "unet3d", .input = input, .target = target, .forward = forward}, p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, UNet3d>(
    {.name = "unet3d",
     .summary = "training 3-D U-Net on volumes (3 classes, 19.1 M parameters)",
     .source = "Cicek et al., 3D U-Net, MICCAI 2016 (19,069,955 parameters without those "
               "of batch normalisation)"});

}  // namespace
}  // namespace uvmsim::dnn
