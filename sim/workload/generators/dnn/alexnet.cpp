#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

constexpr PoolShape kPool = {.kernel = 3, .stride = 2};

Tensor alexnet(Net& net, const Tensor& images) {
  Tensor x = relu_(net.conv("conv0", images, 64, 11, {.stride = 4, .padding = 2, .bias = true}));
  x = max_pool(x, kPool);
  x = relu_(net.conv("conv1", x, 192, 5, {.padding = kSame, .bias = true}));
  x = max_pool(x, kPool);
  x = relu_(net.conv("conv2", x, 384, 3, {.padding = kSame, .bias = true}));
  x = relu_(net.conv("conv3", x, 256, 3, {.padding = kSame, .bias = true}));
  x = relu_(net.conv("conv4", x, 256, 3, {.padding = kSame, .bias = true}));
  x = adaptive_average_pool(max_pool(x, kPool), 6);
  x = reshape(x, {x.shape()[0], x.count() / x.shape()[0]});
  net.enter("fc0");
  x = relu_(net.linear("fc0", dropout(x), 4096));
  net.enter("fc1");
  x = relu_(net.linear("fc1", dropout(x), 4096));
  return net.linear("fc2", x, kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered =
    register_classifier({.name = "alexnet",
                         .summary = "training AlexNet (one tower, 61.1 M parameters)",
                         .source = "Krizhevsky, One Weird Trick; torchvision, alexnet.py",
                         .defaults = {.batch = 128, .torch = "2.x"},
                         .smallest_image = 63,
                         .forward = alexnet});

}  // namespace
}  // namespace uvmsim::dnn
