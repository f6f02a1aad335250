#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Config {
  const char* name;
  std::int64_t layers, width, heads, batch;
  const char* parameters;
};
constexpr Config kBase = {"bert_base", 12, 768, 12, 32, "109.5 M"};
constexpr Config kLarge = {"bert_large", 24, 1024, 16, 16, "335.2 M"};

struct Parameters : TrainingParameters {
  Parameters() {
    optimizer = "adam";
    torch = "2.x";
  }
  std::int64_t length = 512;
  std::string task = "masked_lm";
  std::string attention = "eager";
};

constexpr std::int64_t kTokens = 30522, kTypes = 2, kPositions = 512, kLabels = 2;
const std::string kMaskedLm = "masked_lm", kClassification = "classification";

Tensor embed(Net& net, const Tensor& input, std::int64_t width) {
  const std::string prefix = "bert.embeddings.";
  Tensor types(net.recorder(), input.shape(), DataType::Int64, TensorKind::Input);
  net.recorder().upload(types);
  net.enter("bert.embeddings");
  Tensor x = embedding(input, net.parameter(prefix + "word_embeddings.weight", {kTokens, width}));
  // The table is there for all positions, however short the sequences are.
  const Tensor& positions = net.parameter(prefix + "position_embeddings.weight", {kPositions, width});
  x = add(x, embedding(types, net.parameter(prefix + "token_type_embeddings.weight", {kTypes, width})));
  x = add_position(x, positions);
  return dropout(net.layer_norm(prefix + "LayerNorm", x));
}

Tensor encoder_layer(Net& net, const std::string& name, const Tensor& input, const AttentionShape& attention_shape) {
  const std::int64_t width = input.shape().back();
  const std::string self = name + ".attention.self.", output = name + ".attention.output.";
  const Tensor q = net.linear(self + "query", input, width), k = net.linear(self + "key", input, width),
               v = net.linear(self + "value", input, width);
  Tensor x = dropout(net.linear(output + "dense", attention(q, k, v, attention_shape), width));
  const Tensor attended = net.layer_norm(output + "LayerNorm", add(x, input));
  x = gelu(net.linear(name + ".intermediate.dense", attended, 4 * width));
  x = dropout(net.linear(name + ".output.dense", x, width));
  return net.layer_norm(name + ".output.LayerNorm", add(x, attended));
}

Tensor masked_lm_head(Net& net, Tensor x) {
  const std::int64_t width = x.shape().back();
  const std::string name = "cls.predictions.";
  x = net.layer_norm(name + "transform.LayerNorm", gelu(net.linear(name + "transform.dense", x, width)));
  net.enter("cls.predictions.decoder");
  const Tensor rows = reshape(x, {x.count() / width, width});
  return linear(rows, net.parameter("bert.embeddings.word_embeddings.weight", {kTokens, width}),
                net.parameter(name + "bias", {kTokens}));
}

Tensor forward(Net& net, const Tensor& input, const Config& config, const Parameters& p) {
  Tensor x = embed(net, input, config.width);
  const AttentionShape shape{config.heads, AttentionMask::Additive, true, p.attention == "flash"};
  for (std::int64_t i = 0; i < config.layers; ++i)
    x = encoder_layer(net, "bert.encoder.layer." + std::to_string(i), x, shape);
  if (p.task == kMaskedLm) return masked_lm_head(net, std::move(x));
  x = tanh(net.linear("bert.pooler.dense", first_token(x), config.width));
  return net.linear("classifier", dropout(x), kLabels);
}

class Bert final : public TrainingGenerator<Parameters> {
 public:
  explicit Bert(const Config& config) : config_(config) { p_.batch = config.batch; }

  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training BERT")
            .integer("length", &Parameters::length, "tokens per sequence", {1, kPositions}, "tokens")
            .text("task", &Parameters::task,
                  "masked_lm predicts every token; classification has a pooler and two labels",
                  {kMaskedLm, kClassification})
            .text("attention", &Parameters::attention, "eager materialises scores and probabilities",
                  {"eager", "flash"})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    const auto ids = [](const Shape& shape) {
      return [shape](Recorder& r) { return Tensor(r, shape, DataType::Int64, TensorKind::Input); };
    };
    return train({.name = config_.name,
                  .input = ids({p_.batch, p_.length}),
                  .target = ids({p_.task == kMaskedLm ? p_.batch * p_.length : p_.batch}),
                  .forward = [this](Net& net, const Tensor& input) { return forward(net, input, config_, p_); }},
                 p_, iterations);
  }

 private:
  const Config& config_;
};

bool register_model(const Config& config) {
  return add_plug_in<Generator, Bert>({.name = config.name,
                                       .summary = std::string("training BERT (") + config.parameters + " parameters)",
                                       .source = "huggingface/transformers, modeling_bert.py"},
                                      config);
}
[[maybe_unused]] const bool kRegistered = register_model(kBase) && register_model(kLarge);

}  // namespace
}  // namespace uvmsim::dnn
