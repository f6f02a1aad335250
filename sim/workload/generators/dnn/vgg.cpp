#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

// `blocks`: how many 3x3 convolutions stand before each pooling.
Tensor vgg(Net& net, const Tensor& images, const std::vector<int>& blocks) {
  Tensor x = images;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::int64_t channels = std::min<std::int64_t>(512, std::int64_t{64} << block);
    for (int i = 0; i < blocks[block]; ++i) {
      const std::string name = "block" + std::to_string(block) + ".conv" + std::to_string(i);
      x = relu_(net.conv(name, x, channels, 3, {.padding = kSame, .bias = true}));
    }
    x = max_pool(x, {});
  }
  x = adaptive_average_pool(x, 7);
  x = reshape(x, {x.shape()[0], x.count() / x.shape()[0]});
  x = dropout(relu_(net.linear("fc0", x, 4096)));
  x = dropout(relu_(net.linear("fc1", x, 4096)));
  return net.linear("fc2", x, kImageNetClasses);
}

bool add_variant(const std::string& layers, const std::string& parameters, std::vector<int> blocks) {
  return register_classifier({.name = "vgg" + layers,
                              .summary = "training VGG-" + layers + " (" + parameters + " M parameters)",
                              .source = "Simonyan and Zisserman, Very Deep Convolutional Networks; torchvision, vgg.py",
                              .forward = [blocks](Net& net, const Tensor& x) { return vgg(net, x, blocks); }});
}

[[maybe_unused]] const bool kRegistered = add_variant("11", "132.9", {1, 1, 2, 2, 2}) &&
                                          add_variant("16", "138.4", {2, 2, 3, 3, 3}) &&
                                          add_variant("19", "143.7", {2, 2, 4, 4, 4});

}  // namespace
}  // namespace uvmsim::dnn
