#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 2048;
    optimizer = "plain_sgd";
    torch = "2.x";
  }
  std::string data = "kaggle";
};

struct Config {
  Shape rows;  // of the embedding tables
  std::int64_t width;
  Shape bottom, top;  // widths of the layers of the perceptrons
};

const Config& config_of(const std::string& data) {
  // facebookresearch/dlrm, bench/dlrm_s_criteo_kaggle.sh: 540 M parameters.
  static const Config kaggle = {
      {1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
       27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572},
      16,
      {512, 256, 64, 16},
      {512, 256, 1}};
  // MLPerf training, bench/run_and_time.sh with --max-ind-range=40000000: 24 G parameters.
  static const Config terabyte = {
      {39884406, 39043, 17289, 7420, 20263, 3,  7120,     1543,     63,       38532951, 2953546, 403346, 10,
       2208,     11938, 155,   4,    976,   14, 39979771, 25641295, 39664984, 585935,   12972,   108,    36},
      128,
      {512, 256, 128},
      {1024, 1024, 512, 256, 1}};
  return data == "kaggle" ? kaggle : terabyte;
}

Tensor perceptron(Net& net, const std::string& name, Tensor x, const Shape& widths, bool sigmoid_at_end) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    x = net.linear(name + "." + std::to_string(2 * i), x, widths[i]);
    x = sigmoid_at_end && i + 1 == widths.size() ? sigmoid(x) : relu(x);
  }
  return x;
}

Tensor forward(Net& net, const Tensor& input, const Config& config) {
  const std::int64_t batch = input.shape()[0], tables = std::ssize(config.rows);
  Tensor indices(net.recorder(), {tables, batch}, DataType::Int64, TensorKind::Input);
  net.recorder().upload(indices);
  std::vector<Tensor> features = {perceptron(net, "bot_l", input, config.bottom, false)};
  for (std::int64_t i = 0; i < tables; ++i) {
    const std::string name = "emb_l." + std::to_string(i);
    net.enter(name);
    const Tensor& table = net.parameter(name + ".weight", {config.rows[static_cast<std::size_t>(i)], config.width});
    features.push_back(sparse_embedding(indices.view({batch}, i * indices.bytes() / tables), table));
  }
  net.enter("interaction");
  const Tensor pairs = interact(reshape(concat(features), {batch, tables + 1, config.width}));
  return perceptron(net, "top_l", concat({features.front(), pairs}), config.top, true);
}

class Dlrm final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training DLRM; the embedding tables have sparse gradients and plain updates")
            .text("data", &Parameters::data, "the Criteo data set for which the tables are sized",
                  {"kaggle", "terabyte"})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    const auto batch_of = [this](std::int64_t width) {
      return [this, width](Recorder& r) { return Tensor(r, {p_.batch, width}, r.type(), TensorKind::Input); };
    };
    constexpr std::int64_t kDenseFeatures = 13;
    return train({.name = "dlrm",
                  .input = batch_of(kDenseFeatures),
                  .target = batch_of(1),
                  .forward = [this](Net& net, const Tensor& input) { return forward(net, input, config_of(p_.data)); },
                  .loss = [](const Tensor& probabilities, const Tensor& clicks,
                             Tensor&) { return binary_cross_entropy(probabilities, clicks); }},
                 p_, iterations);
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, Dlrm>(
    {.name = "dlrm",
     .summary = "training the deep learning recommendation model (540 M or 24 G parameters)",
     .source = "facebookresearch/dlrm, dlrm_s_pytorch.py"});

}  // namespace
}  // namespace uvmsim::dnn
