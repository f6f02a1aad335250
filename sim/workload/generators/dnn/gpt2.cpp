#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Config {
  const char* name;
  std::int64_t layers, width, heads, batch;
  const char* parameters;
};
constexpr Config kConfigs[] = {{"gpt2", 12, 768, 12, 8, "124 M"},
                               {"gpt2_medium", 24, 1024, 16, 4, "355 M"},
                               {"gpt2_large", 36, 1280, 20, 2, "774 M"},
                               {"gpt2_xl", 48, 1600, 25, 1, "1558 M"}};

struct Parameters : TrainingParameters {
  Parameters() {
    optimizer = "adam";
    torch = "2.x";
  }
  std::int64_t layers = 0, heads = 0;
  std::int64_t length = 1024;
  std::string attention = "eager";
};

constexpr std::int64_t kTokens = 50257, kPositions = 1024;
constexpr std::int64_t kHeadWidth = 64;  // of all four models

Tensor block(Net& net, const std::string& name, const Tensor& input, const AttentionShape& attention_shape) {
  const std::int64_t width = input.shape().back();
  Tensor x = net.linear(name + ".attn.c_attn", net.layer_norm(name + ".ln_1", input), 3 * width);
  std::vector<Tensor> qkv = split(x, 3);
  x = attention(qkv[0], qkv[1], qkv[2], attention_shape);
  qkv.clear();
  const Tensor attended = add(input, dropout(net.linear(name + ".attn.c_proj", x, width)));
  x = gelu(net.linear(name + ".mlp.c_fc", net.layer_norm(name + ".ln_2", attended), 4 * width));
  return add(attended, dropout(net.linear(name + ".mlp.c_proj", x, width)));
}

Tensor forward(Net& net, const Tensor& input, const Config& config, const std::string& attention) {
  net.enter("transformer.wte");
  const Tensor& tokens = net.parameter("transformer.wte.weight", {kTokens, config.width});
  Tensor x = embedding(input, tokens);
  net.enter("transformer.wpe");
  x = dropout(add_position(x, net.parameter("transformer.wpe.weight", {kPositions, config.width})));
  const AttentionShape shape{config.heads, AttentionMask::Fill, true, attention == "flash"};
  for (std::int64_t i = 0; i < config.layers; ++i) x = block(net, "transformer.h." + std::to_string(i), x, shape);
  x = net.layer_norm("transformer.ln_f", x);
  net.enter("lm_head");  // its weight is that of the embedding
  return linear(reshape(x, {input.count(), config.width}), tokens, Tensor());
}

class Gpt2 final : public TrainingGenerator<Parameters> {
 public:
  explicit Gpt2(const Config& config) : config_(config) { p_.batch = config.batch; }

  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training GPT-2 on next tokens")
            .integer("layers", &Parameters::layers, "0: as many as the model has", {0, 10'000}, "layers")
            .integer("heads", &Parameters::heads, "of width 64 each, the model's width; 0: as many as the model has",
                     {0, 1 << 11}, "heads")
            .integer("length", &Parameters::length, "tokens per sequence", {1, kPositions}, "tokens")
            .text("attention", &Parameters::attention, "eager materialises scores and probabilities",
                  {"eager", "flash"})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    const auto ids = [](const Shape& shape) {
      return [shape](Recorder& r) { return Tensor(r, shape, DataType::Int64, TensorKind::Input); };
    };
    return train(
        {.name = config_.name,
         .input = ids({p_.batch, p_.length}),
         .target = ids({p_.batch * p_.length}),
         .forward = [this](Net& net, const Tensor& input) { return forward(net, input, shape(), p_.attention); }},
        p_, iterations);
  }

 private:
  // The model, with the layers and the heads that were asked for.
  Config shape() const {
    Config own = config_;
    if (p_.layers > 0) own.layers = p_.layers;
    if (p_.heads > 0) own.heads = p_.heads, own.width = p_.heads * kHeadWidth;
    return own;
  }

  const Config& config_;
};

bool add_all() {
  for (const Config& config : kConfigs)
    add_plug_in<Generator, Gpt2>({.name = config.name,
                                  .summary = std::string("training GPT-2 (") + config.parameters + " parameters)",
                                  .source = "karpathy/nanoGPT, model.py; openai/gpt-2"},
                                 config);
  return true;
}
[[maybe_unused]] const bool kRegistered = add_all();

}  // namespace
}  // namespace uvmsim::dnn
