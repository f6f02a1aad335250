#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 40;
    optimizer = "plain_sgd";
  }
  std::int64_t bptt = 1408;
  std::int64_t layers = 2;
};

constexpr std::int64_t kTokens = 33278;  // of WikiText-2
constexpr std::int64_t kWidth = 256;     // of the embedding and of the LSTM

Tensor forward(Net& net, const Tensor& input, std::int64_t layers) {
  Tensor x = dropout(embedding(input, net.parameter("encoder.weight", {kTokens, kWidth})));
  std::vector<Tensor> weights;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string suffix = "_l" + std::to_string(layer);
    for (const char* matrix : {"rnn.weight_ih", "rnn.weight_hh"})
      weights.push_back(net.parameter(matrix + suffix, {4 * kWidth, kWidth}));
    for (const char* bias : {"rnn.bias_ih", "rnn.bias_hh"})
      weights.push_back(net.parameter(bias + suffix, {4 * kWidth}));
  }
  LstmResult rnn = lstm(x, weights, kWidth, layers);
  x = {};
  rnn.output = dropout(rnn.output);
  return net.linear("decoder", reshape(rnn.output, {input.count(), kWidth}), kTokens);
}

// In half precision the loss is taken of a single-precision copy, which the script keeps in a variable (assumed: with
// it the largest batches that fit are the published ones).
Tensor loss(const Tensor& output, const Tensor& target, Tensor& bound) {
  bound = output;
  if (output.type() != DataType::Float32) bound = to_type(output, DataType::Float32);
  return cross_entropy(bound, target);
}

class WordLanguageModel final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training an LSTM on words, with truncated back-propagation through time")
            .integer("bptt", &Parameters::bptt, "words per sequence", {1, {}}, "words")
            .integer("layers", &Parameters::layers, "layers of the LSTM", {1, 10'000})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    const auto words = [](const Shape& shape) {
      return [shape](Recorder& r) { return Tensor(r, shape, DataType::Int64, TensorKind::Input); };
    };
    return train({.name = "word_language_model",
                  .input = words({p_.bptt, p_.batch}),
                  .target = words({p_.bptt * p_.batch}),
                  .forward = [this](Net& net, const Tensor& input) { return forward(net, input, p_.layers); },
                  .loss = loss},
                 p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, WordLanguageModel>({.name = "word_language_model",
                                               .summary = "training a two-layer LSTM on WikiText-2 (18.1 M parameters)",
                                               .source = "pytorch/examples, word_language_model, December 2018"});

}  // namespace
}  // namespace uvmsim::dnn
