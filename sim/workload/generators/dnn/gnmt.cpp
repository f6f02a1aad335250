#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 128;
    optimizer = "adam";
    torch = "2.x";
  }
  std::int64_t length = 50;
  std::int64_t layers = 8;
};

constexpr std::int64_t kTokens = 32000;  // word pieces
constexpr std::int64_t kWidth = 1024;    // of embeddings and LSTMs

// Tensors are (length, batch, width), as cuDNN's LSTM wants them.

Tensor join(const Tensor& a, const Tensor& b) {
  const Shape s = a.shape();
  const std::int64_t rows = s[0] * s[1];
  const Tensor both = concat({reshape(a, {rows, s[2]}), reshape(b, {rows, b.shape()[2]})});
  return reshape(both, {s[0], s[1], both.shape()[1]});
}

Tensor lstm_layer(Net& net, const std::string& name, const Tensor& x) {
  net.enter(name);
  const std::vector<Tensor> weights = {net.parameter(name + ".weight_ih", {4 * kWidth, x.shape()[2]}),
                                       net.parameter(name + ".weight_hh", {4 * kWidth, kWidth}),
                                       net.parameter(name + ".bias_ih", {4 * kWidth}),
                                       net.parameter(name + ".bias_hh", {4 * kWidth})};
  return lstm(x, weights, kWidth, 1).output;
}

Tensor embed(Net& net, const std::string& name, const Tensor& tokens) {
  net.enter(name);
  return embedding(tokens, net.parameter(name + ".weight", {kTokens, kWidth}));
}

// The first layer reads both ways; residual connections from the third layer on.
Tensor encode(Net& net, const Tensor& source, std::int64_t layers) {
  Tensor x = dropout(embed(net, "encoder.embedding", source));
  const Tensor ahead = lstm_layer(net, "encoder.layer0", x);
  const Tensor back = lstm_layer(net, "encoder.layer0_reverse", permute(x, x.shape()));
  x = join(ahead, permute(back, back.shape()));
  for (std::int64_t i = 1; i < layers; ++i) {
    const Tensor y = lstm_layer(net, "encoder.layer" + std::to_string(i), dropout(x));
    x = i > 1 ? add(y, x) : y;
  }
  return x;
}

// Of each word of the target on the words of the source. The scores are products; the paper's are additive, which takes
// tensors of (batch, length, length, width) unless a kernel fuses them.
Tensor attend(Net& net, const Tensor& queries, const Tensor& encoded) {
  const std::int64_t length = queries.shape()[0], batch = queries.shape()[1];
  const Shape by_sample = {batch, length, kWidth};
  const double flops = 2.0 * static_cast<double>(batch * length * length * kWidth);
  const Tensor keys = permute(net.linear("attention.keys", encoded, kWidth, false), by_sample);
  const Tensor scores = batched_product(permute(queries, by_sample), keys, {batch, length, length}, flops);
  const Tensor context = batched_product(softmax(scores), permute(encoded, by_sample), by_sample, flops);
  return permute(context, queries.shape());
}

// The context that the first layer's output finds goes to all others.
Tensor decode(Net& net, const Tensor& target, const Tensor& encoded, std::int64_t layers) {
  Tensor x = lstm_layer(net, "decoder.layer0", dropout(embed(net, "decoder.embedding", target)));
  const Tensor context = attend(net, x, encoded);
  for (std::int64_t i = 1; i < layers; ++i) {
    const Tensor y = lstm_layer(net, "decoder.layer" + std::to_string(i), dropout(join(x, context)));
    x = i > 1 ? add(y, x) : y;
  }
  return x;
}

Tensor forward(Net& net, const Tensor& source, std::int64_t layers) {
  Tensor target(net.recorder(), source.shape(), DataType::Int64, TensorKind::Input);
  net.recorder().upload(target);
  const Tensor x = decode(net, target, encode(net, source, layers), layers);
  return net.linear("classifier", reshape(x, {x.count() / kWidth, kWidth}), kTokens);
}

class Gnmt final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training a translator of LSTMs with attention")
            .integer("length", &Parameters::length, "words of source and of target", {1, {}}, "words")
            .integer("layers", &Parameters::layers, "of the encoder and of the decoder", {2, 10'000})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    const auto words = [](const Shape& shape) {
      return [shape](Recorder& r) { return Tensor(r, shape, DataType::Int64, TensorKind::Input); };
    };
    return train({.name = "gnmt",
                  .input = words({p_.length, p_.batch}),
                  .target = words({p_.length * p_.batch}),
                  .forward = [this](Net& net, const Tensor& source) { return forward(net, source, p_.layers); }},
                 p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, Gnmt>(
    {.name = "gnmt",
     .summary = "training Google's translator of 8 + 8 LSTM layers with attention (275.7 M parameters)",
     .source = "Wu et al., Google's Neural Machine Translation System; NVIDIA/DeepLearningExamples, GNMT, for what "
               "the layers read"});

}  // namespace
}  // namespace uvmsim::dnn
