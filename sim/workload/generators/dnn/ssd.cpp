#include "workload/generators/dnn/ops_sequence.h"
#include "workload/generators/dnn/resnet.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  Parameters() {
    batch = 32;
    torch = "2.x";
  }
  std::int64_t classes = 81;
};

constexpr std::int64_t kImage = 300;
constexpr std::int64_t kBoxes[] = {4, 6, 6, 6, 4, 4};  // default boxes at each position of a feature map
constexpr std::int64_t kCoordinates = 4;               // of a box

// What a backbone makes of images: the feature maps in which objects are looked for, the finest first.
using Backbone = std::function<std::vector<Tensor>(Net&, const Tensor& images)>;

// Reduces the channels, then convolves: with a stride of 2, or without padding at a stride of 1, which takes two off
// the extents.
struct Extra {
  std::int64_t reduced, channels;
  bool halves;
};

Tensor conv_relu(Net& net, const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t kernel,
                 Net::ConvOptions options, bool normalised) {
  options.bias = !normalised;
  Tensor out = net.conv(name, x, channels, kernel, options);
  if (normalised) out = net.batch_norm(name + "_bn", out);
  return relu_(out);
}

void add_extras(Net& net, std::vector<Tensor>& maps, const std::vector<Extra>& extras, bool normalised) {
  for (std::size_t i = 0; i < extras.size(); ++i) {
    const Extra& extra = extras[i];
    const std::string name = "extra" + std::to_string(i);
    const Tensor reduced = conv_relu(net, name + ".conv1", maps.back(), extra.reduced, 1, {}, normalised);
    const Net::ConvOptions options{.stride = extra.halves ? 2 : 1, .padding = extra.halves ? kSame : 0};
    maps.push_back(conv_relu(net, name + ".conv2", reduced, extra.channels, 3, options, normalised));
  }
}

// ResNet-18 up to its third stage, which has a stride of 1.
std::vector<Tensor> resnet18(Net& net, const Tensor& images) {
  std::vector<Tensor> maps = {resnet::basic_stages(net, resnet::stem(net, images), {2, 2, 2}, {1, 2, 1})};
  add_extras(net, maps, {{256, 512, true}, {256, 512, true}, {128, 256, true}, {128, 256, false}, {128, 128, false}},
             true);
  return maps;
}

// Divides every position by the length of its vector of channels. Saves input and lengths.
Tensor normalized(const Tensor& x) {
  Recorder& recorder = x.recorder();
  const Tensor length(recorder, {x.shape()[0], 1, x.shape()[2], x.shape()[3]}, x.type(), TensorKind::Activation);
  recorder.kernel("norm", KernelClass::Reduction, 2 * real(x.count()), {dense(x)}, {dense(length)});
  Tensor y(recorder, x.shape(), x.type(), TensorKind::Activation);
  recorder.kernel("div", KernelClass::Pointwise, real(x.count()), {dense(x), dense(length)}, {dense(y)});
  link(y, {&x}, {x.storage(), length.storage()},
       [&recorder, shape = x.shape(), type = x.type()](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("normalize_bwd", KernelClass::Pointwise, 6 * real(dx.count()),
                         {dense(dy), dense_as(*saved[0], dx), dense(*saved[1])}, {dense(dx)});
         return {dx};
       });
  return y;
}

Tensor vgg_block(Net& net, const std::string& name, Tensor x, std::int64_t channels, int layers) {
  for (int i = 0; i < layers; ++i)
    x = conv_relu(net, name + ".conv" + std::to_string(i), x, channels, 3, {.padding = kSame}, false);
  return x;
}

// VGG-16, whose first two linear layers have become convolutions: the first is dilated, which costs what one that is
// not does.
std::vector<Tensor> vgg16(Net& net, const Tensor& images) {
  Tensor x = max_pool(vgg_block(net, "block0", images, 64, 2), {});
  x = max_pool(vgg_block(net, "block1", x, 128, 2), {});
  x = max_pool(vgg_block(net, "block2", x, 256, 3), {.round_up = true});
  x = vgg_block(net, "block3", x, 512, 3);
  net.enter("scale");
  std::vector<Tensor> maps = {multiply(normalized(x), net.parameter("scale.weight", {512, 1, 1}))};
  x = max_pool(vgg_block(net, "block4", max_pool(x, {}), 512, 3), {.kernel = 3, .stride = 1, .padding = 1});
  x = conv_relu(net, "fc6", x, 1024, 3, {.padding = kSame}, false);
  maps.push_back(conv_relu(net, "fc7", x, 1024, 1, {}, false));
  add_extras(net, maps, {{256, 512, true}, {128, 256, true}, {128, 256, false}, {128, 256, false}}, false);
  return maps;
}

// What all maps say about their boxes, `values` of each: (N * boxes, values).
Tensor head(Net& net, const std::string& name, const std::vector<Tensor>& maps, std::int64_t values) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::string layer = name + std::to_string(i);
    Tensor x = net.conv(layer, maps[i], kBoxes[i] * values, 3, {.padding = kSame, .bias = true});
    const std::int64_t boxes = x.count() / (x.shape()[0] * values);
    all.push_back(permute(x, {x.shape()[0], boxes, values}));
  }
  net.enter(name);
  const Tensor joined = concat(all);
  return reshape(joined, {joined.count() / values, values});
}

// Of all boxes' coordinates, where the boxes with an object count: a loss of each element, then their sum.
Tensor smooth_l1(const Tensor& boxes, const Tensor& target) {
  Recorder& recorder = boxes.recorder();
  Tensor terms(recorder, boxes.shape(), boxes.type(), TensorKind::Activation);
  recorder.kernel("smooth_l1", KernelClass::Pointwise, 4 * real(boxes.count()), {dense(boxes), dense(target)},
                  {dense(terms)});
  Tensor loss(recorder, {1}, boxes.type(), TensorKind::Activation);
  recorder.kernel("sum", KernelClass::Reduction, real(terms.count()), {dense(terms)}, {dense(loss)});
  link(loss, {&boxes}, {boxes.storage(), target.storage()},
       [&recorder, shape = boxes.shape(), type = boxes.type()](const Saved& saved,
                                                               const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx(recorder, shape, type, TensorKind::Gradient);
         recorder.kernel("smooth_l1_bwd", KernelClass::Pointwise, 4 * real(dx.count()),
                         {dense(dy), dense_as(*saved[0], dx), dense_as(*saved[1], dx)}, {dense(dx)});
         return {dx};
       });
  return loss;
}

class Ssd final : public TrainingGenerator<Parameters> {
 public:
  Ssd(std::string name, const Backbone& backbone, std::int64_t classes) : name_(std::move(name)), backbone_(backbone) {
    p_.classes = classes;
  }

  const Description& description() const override {
    static const Description d =
        describe_training<Parameters>(
            "training a detector of objects in images of 300 x 300, whose losses see all "
            "8,732 boxes (the search for hard negatives is left out)",
            true)
            .integer("classes", &Parameters::classes, "of objects, and the background", {2, {}})
            .build();
    return d;
  }

  trace::Trace generate(int iterations) const override {
    Model model;
    model.name = name_;
    model.input = [this](Recorder& r) { return Tensor(r, {p_.batch, 3, kImage, kImage}, r.type(), TensorKind::Input); };
    model.target = [this](Recorder& r) {
      return Tensor(r, {p_.batch * kBoxesOfImage}, DataType::Int64, TensorKind::Input);
    };
    model.forward = [this](Net& net, const Tensor& images) {
      const std::vector<Tensor> maps = backbone_(net, images);
      net.auxiliary = head(net, "boxes", maps, kCoordinates);
      return head(net, "classes", maps, p_.classes);
    };
    model.auxiliary_loss = [](const Tensor& boxes, const Tensor&) {
      const Tensor wanted(boxes.recorder(), boxes.shape(), boxes.type(), TensorKind::Input);
      boxes.recorder().upload(wanted);
      return smooth_l1(boxes, wanted);
    };
    return train(model, p_, iterations);
  }

 private:
  static constexpr std::int64_t kBoxesOfImage = 8732;

  std::string name_;
  const Backbone& backbone_;
};

bool add_variant(const std::string& name, const std::string& on, std::int64_t classes, const std::string& source,
                 const Backbone& backbone) {
  return add_plug_in<Generator, Ssd>(
      {.name = name, .summary = "training SSD300 on " + on, .source = "Liu et al., SSD; " + source}, name, backbone,
      classes);
}

[[maybe_unused]] const bool kRegistered =
    add_variant("ssd300_vgg16", "VGG-16 (91 classes, 35.6 M parameters)", 91, "torchvision, detection/ssd.py", vgg16) &&
    add_variant("ssd300_resnet18", "ResNet-18 (81 classes)", 81,
                "NVIDIA/DeepLearningExamples, PyTorch/Detection/SSD, ssd/model.py", resnet18);

}  // namespace
}  // namespace uvmsim::dnn
