#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Config {
  const char* name;
  std::int64_t layers, width, heads, batch;
  const char* parameters;
};
constexpr Config kBase = {"vit_b16", 12, 768, 12, 128, "86.6 M"};
constexpr Config kLarge = {"vit_l16", 24, 1024, 16, 64, "304.3 M"};

struct Parameters : TrainingParameters {
  Parameters() {
    optimizer = "adam";
    torch = "2.x";
  }
  std::string attention = "eager";
};

constexpr std::int64_t kImage = 224, kPatch = 16, kClasses = 1000;

Tensor block(Net& net, const std::string& name, const Tensor& input, const AttentionShape& attention_shape) {
  const std::int64_t width = input.shape().back();
  const std::string self = name + ".self_attention";
  Tensor x = net.layer_norm(name + ".ln_1", input);
  net.enter(self);
  x = linear(x, net.parameter(self + ".in_proj_weight", {3 * width, width}),
             net.parameter(self + ".in_proj_bias", {3 * width}));
  std::vector<Tensor> qkv = split(x, 3);
  x = attention(qkv[0], qkv[1], qkv[2], attention_shape);
  qkv.clear();
  const Tensor attended = add(net.linear(self + ".out_proj", x, width), input);
  x = gelu(net.linear(name + ".mlp.0", net.layer_norm(name + ".ln_2", attended), 4 * width));
  return add(attended, net.linear(name + ".mlp.3", x, width));
}

Tensor forward(Net& net, const Tensor& input, const Config& config, const std::string& attention) {
  const Tensor& token = net.parameter("class_token", {config.width});
  constexpr std::int64_t kPatches = (kImage / kPatch) * (kImage / kPatch);
  Tensor x = net.conv("conv_proj", input, config.width, kPatch, {.stride = kPatch, .bias = true});
  net.enter("encoder");
  x = prepend_token(token, permute(x, {input.shape()[0], kPatches, config.width}));
  x = add_position(x, net.parameter("encoder.pos_embedding", {kPatches + 1, config.width}));
  const AttentionShape shape{config.heads, AttentionMask::None, false, attention == "flash"};
  for (std::int64_t i = 0; i < config.layers; ++i)
    x = block(net, "encoder.layers.encoder_layer_" + std::to_string(i), x, shape);
  x = net.layer_norm("encoder.ln", x);
  return net.linear("heads.head", first_token(x), kClasses);
}

class Vit final : public TrainingGenerator<Parameters> {
 public:
  explicit Vit(const Config& config) : config_(config) { p_.batch = config.batch; }

  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training a vision transformer on images of 224 x 224, without dropout")
            .text("attention", &Parameters::attention, "eager materialises scores and probabilities",
                  {"eager", "flash"})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    const auto input = [this](Recorder& r) {
      return Tensor(r, {p_.batch, 3, kImage, kImage}, r.type(), TensorKind::Input);
    };
    const auto target = [this](Recorder& r) { return Tensor(r, {p_.batch}, DataType::Int64, TensorKind::Input); };
    return train(
        {.name = config_.name,
         .input = input,
         .target = target,
         .forward = [this](Net& net, const Tensor& images) { return forward(net, images, config_, p_.attention); }},
        p_, iterations);
  }

 private:
  const Config& config_;
};

bool register_model(const Config& config) {
  return add_plug_in<Generator, Vit>(
      {.name = config.name,
       .summary = std::string("training ViT with 16 x 16 patches (") + config.parameters + " parameters)",
       .source = "pytorch/vision, vision_transformer.py"},
      config);
}
[[maybe_unused]] const bool kRegistered = register_model(kBase) && register_model(kLarge);

}  // namespace
}  // namespace uvmsim::dnn
