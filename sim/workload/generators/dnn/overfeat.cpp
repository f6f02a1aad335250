#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

// The fast model of the paper's table 1; no layer of it normalises.
Tensor overfeat(Net& net, const Tensor& images) {
  Tensor x = relu_(net.conv("conv0", images, 96, 11, {.stride = 4, .bias = true}));
  x = max_pool(x, {});
  x = relu_(net.conv("conv1", x, 256, 5, {.bias = true}));
  x = max_pool(x, {});
  x = relu_(net.conv("conv2", x, 512, 3, {.padding = kSame, .bias = true}));
  x = relu_(net.conv("conv3", x, 1024, 3, {.padding = kSame, .bias = true}));
  x = relu_(net.conv("conv4", x, 1024, 3, {.padding = kSame, .bias = true}));
  x = max_pool(x, {});
  x = reshape(x, {x.shape()[0], x.count() / x.shape()[0]});
  x = dropout(relu_(net.linear("fc0", x, 3072)));
  x = dropout(relu_(net.linear("fc1", x, 4096)));
  return net.linear("fc2", x, kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered =
    register_classifier({.name = "overfeat",
                         .summary = "training OverFeat, the fast model (145.9 M parameters)",
                         .source = "Sermanet et al., OverFeat; soumith/convnet-benchmarks, overfeat.lua",
                         .defaults = {.batch = 128, .torch = "2.x"},
                         .image = 231,
                         .smallest_image = 71,
                         .forward = overfeat});

}  // namespace
}  // namespace uvmsim::dnn
