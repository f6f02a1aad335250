#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/ops_layers.h"

namespace uvmsim::dnn {
namespace {

constexpr PoolShape kPool = {.kernel = 3, .stride = 2};

Tensor alexnet_2012(Net& net, const Tensor& images) {
  Tensor x = relu_layer(net.conv("conv0", with_gradient(images), 96, 11, {.stride = 4, .bias = true}));
  x = max_pool(local_response_norm_layer(x), kPool);
  x = relu_layer(net.conv("conv1", x, 256, 5, {.padding = kSame, .bias = true}));
  x = max_pool(local_response_norm_layer(x), kPool);
  x = relu_layer(net.conv("conv2", x, 384, 3, {.padding = kSame, .bias = true}));
  x = relu_layer(net.conv("conv3", x, 384, 3, {.padding = kSame, .bias = true}));
  x = relu_layer(net.conv("conv4", x, 256, 3, {.padding = kSame, .bias = true}));
  x = max_pool(x, kPool);
  x = reshape(x, {x.shape()[0], x.count() / x.shape()[0]});
  net.enter("fc0");
  x = dropout(relu_layer(net.linear("fc0", x, 4096)));
  net.enter("fc1");
  x = dropout(relu_layer(net.linear("fc1", x, 4096)));
  return net.linear("fc2", x, kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered = register_classifier(
    {.name = "alexnet_2012",
     .summary = "training AlexNet with its normalisations, in one tower (62.4 M parameters), as cuDNN's layers do",
     .source = "Krizhevsky et al., NIPS 2012; linnanwang/superneurons-release, testing/alexnet.cpp",
     .defaults = {.batch = 128, .torch = "2.x", .pool_indexes = "none"},
     .image = 227,
     .smallest_image = 67,
     .forward = alexnet_2012});

}  // namespace
}  // namespace uvmsim::dnn
