#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

constexpr std::int64_t kNoise = 100;  // numbers that an image is made from
constexpr std::int64_t kWidth = 64;   // channels of the layers next to the images
constexpr std::int64_t kImage = 64;   // pixels of width and height

// From noise (N, kNoise, 1, 1) to images.
Tensor make(Net& net, const Tensor& noise) {
  Tensor x = noise;
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "generator.layer" + std::to_string(layer);
    const std::int64_t stride = layer == 0 ? 1 : 2, padding = layer == 0 ? 0 : 1;
    x = net.conv(name, x, (8 * kWidth) >> layer, 4, {.stride = stride, .padding = padding, .transposed = true});
    x = relu_(net.batch_norm(name + "_norm", x));
  }
  return tanh(net.conv("generator.layer4", x, 3, 4, {.stride = 2, .padding = 1, .transposed = true}));
}

// From images to the probabilities (N, 1) that they are real. Its leaky ReLU costs what ReLU does.
Tensor judge(Net& net, const Tensor& images) {
  Tensor x = images;
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "discriminator.layer" + std::to_string(layer);
    x = net.conv(name, x, kWidth << layer, 4, {.stride = 2, .padding = 1});
    x = relu_(layer > 0 ? net.batch_norm(name + "_norm", x) : x);
  }
  return sigmoid(reshape(net.conv("discriminator.layer4", x, 1, 4), {images.shape()[0], 1}));
}

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 64;
    optimizer = "adam";
    torch = "2.x";
  }
};

// One network that is trained.
struct Player {
  Net net;
  Optimizer optimizer;
};

// The loop of the two: the discriminator learns from real images and from made ones, then the generator from what the
// discriminator says of the made ones.
class Game {
 public:
  Game(Recorder& recorder, const Parameters& p, const std::vector<ParameterSpec>& generator,
       const std::vector<ParameterSpec>& discriminator)
      : recorder_(recorder),
        batch_(p.batch),
        generator_{Net(recorder, generator), Optimizer(p.optimizer)},
        discriminator_{Net(recorder, discriminator), Optimizer(p.optimizer)} {}

  void iteration() {
    Tensor images(recorder_, {batch_, 3, kImage, kImage}, recorder_.type(), TensorKind::Input);
    recorder_.upload(images);
    zero_grad(discriminator_.net);
    learn(images);
    images = {};
    recorder_.phase("forward");
    const Tensor made = make(generator_.net, filled("normal_", {batch_, kNoise, 1, 1}));
    learn(made.alias());
    update(discriminator_);
    zero_grad(generator_.net);
    learn(made);
    update(generator_);
  }

 private:
  // Made on the GPU by the kernel `name`.
  Tensor filled(std::string_view name, Shape shape) {
    Tensor x(recorder_, std::move(shape), recorder_.type(), TensorKind::Input);
    recorder_.kernel(name, KernelClass::Fill, 0, {}, {wide(x)});
    return x;
  }

  // Leaves gradients behind in whatever made `images`, and in the discriminator.
  void learn(const Tensor& images) {
    recorder_.phase("forward");
    const Tensor labels = filled("fill_", {batch_, 1});
    const Tensor loss = binary_cross_entropy(judge(discriminator_.net, images), labels);
    recorder_.phase("backward");
    backward(loss);
  }

  void update(Player& player) {
    recorder_.phase("optimizer");
    player.optimizer.step(player.net);
  }

  Recorder& recorder_;
  std::int64_t batch_;
  Player generator_, discriminator_;
};

class Dcgan final : public TrainingGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>("training a generator of images against a discriminator").build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    const Recorder::Options options = recorder_options(p_);
    const auto parameters = [&](Tensor (*forward)(Net&, const Tensor&), const Shape& input) {
      return parameters_of(options,
                           [&](Recorder& r, Net& net) { forward(net, Tensor(r, input, r.type(), TensorKind::Input)); });
    };
    TraceBuilder trace(training_header("dcgan", "samples", p_));
    Recorder recorder(options, trace);
    Game game(recorder, p_, parameters(make, {1, kNoise, 1, 1}), parameters(judge, {1, 3, kImage, kImage}));
    for (int i = 0; i < iterations; ++i) {
      recorder.iteration(i);
      game.iteration();
    }
    recorder.close();
    return trace.take();
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, Dcgan>(
    {.name = "dcgan",
     .summary = "training DCGAN on images of 64 x 64 (3.6 M and 2.8 M parameters)",
     .source = "Radford et al., Unsupervised Representation Learning with Deep Convolutional Generative Adversarial "
               "Networks; pytorch/examples, dcgan"});

}  // namespace
}  // namespace uvmsim::dnn
