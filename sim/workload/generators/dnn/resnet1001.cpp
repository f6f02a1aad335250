#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() { batch = 48; }
  std::int64_t image = 64;
};

constexpr int kUnitsPerStage = 111;  // 9 n + 2 layers
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

Tensor forward(Net& net, const Tensor& input) {
  Tensor x = net.conv("stem", input, 16, 3, {.padding = 1});
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < kUnitsPerStage; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".unit" + std::to_string(i);
      x = unit(net, name, x, std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
    }
  x = relu_(net.batch_norm("bn", x));
  x = global_average_pool(x);
  return net.linear("fc", x, kClasses);
}

class ResNet1001 final : public Generator {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training ResNet-1001 with in-place ReLU and in-place addition")
            .integer("image", &Parameters::image,
                     "width and height of the input; 64 is inferred from published batch limits", {8, {}}, "pixels")
            .build();
    return d;
  }
  void* parameters() override { return &p_; }

  trace::Trace generate(int iterations) const override {
    const auto input = [this](Recorder& r) {
      return Tensor(r, {p_.batch, 3, p_.image, p_.image}, r.type(), TensorKind::Input);
    };
    const auto target = [this](Recorder& r) { return Tensor(r, {p_.batch}, DataType::Int64, TensorKind::Input); };
    return train({.name = "resnet1001", .input = input, .target = target, .forward = forward}, p_, iterations);
  }

 private:
  Parameters p_;
};

[[maybe_unused]] const bool kRegistered =
    generators().add({"resnet1001", "training ResNet-1001 (pre-activation, 10.3 M parameters)",
                      "KaimingHe/resnet-1k-layers, resnet-pre-act.lua", [] { return std::make_unique<ResNet1001>(); }});

}  // namespace
}  // namespace uvmsim::dnn
