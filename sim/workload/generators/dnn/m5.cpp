#include <algorithm>

#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 128;
    torch = "2.x";
  }
  std::int64_t samples = 32'000, stride = 4, classes = 10;
  Shape channels = {128, 128, 256, 512};
};

constexpr std::int64_t kFirstKernel = 80, kKernel = 3, kPool = 4;

// Waveforms (N, 1, samples) to logits.
Tensor forward(Net& net, const Tensor& sound, const Parameters& p) {
  Tensor x = sound;
  for (std::size_t i = 0; i < p.channels.size(); ++i) {
    const std::string name = "conv" + std::to_string(i + 1);
    const Net::ConvOptions options{.stride = i == 0 ? p.stride : 1, .padding = kSame, .bias = true};
    x = net.conv(name, x, p.channels[i], i == 0 ? kFirstKernel : kKernel, options);
    x = max_pool(relu_(net.batch_norm(name + "_bn", x)), {.kernel = kPool, .stride = kPool});
  }
  return net.linear("fc", global_average_pool(x), p.classes);
}

class M5 final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training convolutions over sound as it was recorded", true)
            .integer("samples", &Parameters::samples, "of one sound; the default is four seconds at 8 kHz",
                     {64, 1 << 24}, "samples")
            .integer("stride", &Parameters::stride, "of the first convolution, whose kernel has 80 samples", {1, 80},
                     "samples")
            .integers("channels", &Parameters::channels, "of each convolution; a pooling by 4 follows each", {1, {}})
            .integer("classes", &Parameters::classes, "of sounds", {1, {}})
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    std::int64_t left = p_.samples / p_.stride;
    for (std::size_t i = 0; i < p_.channels.size() && left > 0; ++i) left /= kPool;
    if (!p_.channels.empty() && left > 0) return {};
    return {"expected samples to outlast the stride and a pooling by 4 for each of 1 or more channels"};
  }

  trace::Trace generate(int iterations) const override {
    const auto input = [this](Recorder& r) {
      return Tensor(r, {p_.batch, 1, p_.samples}, r.type(), TensorKind::Input);
    };
    const auto target = [this](Recorder& r) { return Tensor(r, {p_.batch}, DataType::Int64, TensorKind::Input); };
    const auto model = [this](Net& net, const Tensor& sound) { return forward(net, sound, p_); };
    return train({.name = "m5", .input = input, .target = target, .forward = model}, p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, M5>(
    {.name = "m5",
     .summary = "training M5 on waveforms (five layers, 0.56 M parameters)",
     .source = "Dai et al., Very Deep Convolutional Neural Networks for Raw Waveforms, table 1; PyTorch's tutorial "
               "Speech Command Classification with torchaudio has it with channels 32, 32, 64, 64 and a stride of 16"});

}  // namespace
}  // namespace uvmsim::dnn
