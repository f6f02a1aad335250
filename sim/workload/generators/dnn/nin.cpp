#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/inception.h"

namespace uvmsim::dnn {
namespace {

using namespace inception;

// A convolution and a perceptron over the channels of each pixel: two convolutions of 1 x 1.
Tensor mlpconv(Net& net, const std::string& name, const Tensor& x, const Step& first, std::int64_t last) {
  return chain(net, name, x, {first, plain(first.channels, 1), plain(last, 1)});
}

Tensor nin(Net& net, const Tensor& images) {
  Tensor x = mlpconv(net, "block0", images, plain(96, 11, 4, 0), 96);
  x = chain(net, "pool0", x, {maximum_rounded_up()});
  x = mlpconv(net, "block1", x, plain(256, 5), 256);
  x = chain(net, "pool1", x, {maximum_rounded_up()});
  x = mlpconv(net, "block2", x, plain(384, 3), 384);
  x = dropout(chain(net, "pool2", x, {maximum_rounded_up()}));
  return global_average_pool(mlpconv(net, "block3", x, plain(1024, 3), kImageNetClasses));
}

[[maybe_unused]] const bool kRegistered =
    register_classifier({.name = "nin",
                         .summary = "training Network in Network for ImageNet (7.6 M parameters)",
                         .source = "Lin et al., Network In Network; Caffe's model zoo, nin_imagenet",
                         .defaults = {.batch = 128, .torch = "2.x"},
                         .smallest_image = 51,
                         .forward = nin});

}  // namespace
}  // namespace uvmsim::dnn
