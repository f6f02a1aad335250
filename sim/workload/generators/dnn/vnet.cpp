#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 15;
    optimizer = "adam";
  }
  std::int64_t depth = 128, height = 128, width = 64;
};

Tensor conv_norm_prelu(Net& net, const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t kernel,
                       Net::ConvOptions options) {
  options.bias = true;
  const Tensor h = net.batch_norm(name + ".norm", net.conv(name + ".conv", x, channels, kernel, options));
  return net.prelu(name + ".prelu", h);
}

Tensor convolutions(Net& net, const std::string& name, const Tensor& x, int count) {
  Tensor h = x;
  for (int i = 0; i < count; ++i)
    h = conv_norm_prelu(net, name + ".unit" + std::to_string(i), h, x.shape()[1], 5, {.padding = kSame});
  return h;
}

Tensor drop_channels(const Tensor& x) { return drop_slices(x, {x.shape()[0], x.shape()[1]}); }

Tensor first(Net& net, const Tensor& x) {
  const Tensor h = net.batch_norm("in.norm", net.conv("in.conv", x, 16, 5, {.padding = kSame, .bias = true}));
  return net.prelu("in.prelu", add(h, concat(std::vector<Tensor>(16, x))));
}

Tensor down(Net& net, const std::string& name, const Tensor& x, int count, bool drop) {
  const Tensor d = conv_norm_prelu(net, name + ".down", x, 2 * x.shape()[1], 2, {.stride = 2});
  const Tensor out = convolutions(net, name, drop ? drop_channels(d) : d, count);
  return net.prelu(name + ".prelu", add(out, d));
}

Tensor up(Net& net, const std::string& name, const Tensor& x, const Tensor& skip, std::int64_t channels, int count,
          bool drop) {
  net.enter(name + ".drop");
  Tensor out = drop ? drop_channels(x) : x;
  const Tensor dropped_skip = drop_channels(skip);
  out = conv_norm_prelu(net, name + ".up", out, channels / 2, 2, {.stride = 2, .transposed = true});
  const Tensor joined = concat({out, dropped_skip});
  out = convolutions(net, name, joined, count);
  return net.prelu(name + ".prelu", add(out, joined));
}

Tensor forward(Net& net, const Tensor& volume) {
  const Tensor x16 = first(net, volume);
  const Tensor x32 = down(net, "down32", x16, 1, false), x64 = down(net, "down64", x32, 2, false);
  const Tensor x128 = down(net, "down128", x64, 3, true), x256 = down(net, "down256", x128, 2, true);
  Tensor out = up(net, "up256", x256, x128, 256, 2, true);
  out = up(net, "up128", out, x64, 128, 2, true);
  out = up(net, "up64", out, x32, 64, 1, false);
  out = up(net, "up32", out, x16, 32, 1, false);
  out = conv_norm_prelu(net, "out", out, 2, 5, {.padding = kSame});
  out = net.conv("logits", out, 2, 1, {.bias = true});
  return permute(out, {out.count() / 2, 2});  // a voxel and its two classes in a row
}

class VNet final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>(
            "training V-Net with PReLU and dropout of channels; the default volume is "
            "inferred from published batch limits")
            .integer("depth", &Parameters::depth, "of the volume, a multiple of 16", {16, {}}, "voxels")
            .integer("height", &Parameters::height, "of the volume, a multiple of 16", {16, {}}, "voxels")
            .integer("width", &Parameters::width, "of the volume, a multiple of 16", {16, {}}, "voxels")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (p_.depth % 16 == 0 && p_.height % 16 == 0 && p_.width % 16 == 0) return {};
    return {"expected depth, height and width to be multiples of 16: V-Net halves them four times"};
  }

  trace::Trace generate(int iterations) const override {
    const Shape volume = {p_.batch, 1, p_.depth, p_.height, p_.width};
    const std::int64_t voxels = p_.batch * p_.depth * p_.height * p_.width;
    const auto input = [volume](Recorder& r) { return Tensor(r, volume, r.type(), TensorKind::Input); };
    const auto target = [voxels](Recorder& r) { return Tensor(r, {voxels}, DataType::Int64, TensorKind::Input); };
    return train({.name = "vnet", .input = input, .target = target, .forward = forward}, p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, VNet>({.name = "vnet",
                                  .summary = "training V-Net on volumes (3-D convolutions, 45.6 M parameters)",
                                  .source = "mattmacy/vnet.pytorch, vnet.py and train.py (elu=False)"});

}  // namespace
}  // namespace uvmsim::dnn
