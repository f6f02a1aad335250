#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/inception.h"

namespace uvmsim::dnn {
namespace {

using namespace inception;

std::vector<Branch> block_a(std::int64_t pooled) {
  return {
      {same(64, 1)}, {same(48, 1), same(64, 5)}, {same(64, 1), same(96, 3), same(96, 3)}, {average(), same(pooled, 1)}};
}
std::vector<Branch> block_b() { return {{valid(384, 3, 2)}, {same(64, 1), same(96, 3), valid(96, 3, 2)}, {maximum()}}; }
std::vector<Branch> block_c(std::int64_t width) {
  return {{same(192, 1)},
          {same(width, 1), row(width, 7), column(192, 7)},
          {same(width, 1), column(width, 7), row(width, 7), column(width, 7), row(192, 7)},
          {average(), same(192, 1)}};
}
std::vector<Branch> block_d() {
  return {{same(192, 1), valid(320, 3, 2)}, {same(192, 1), row(192, 7), column(192, 7), valid(192, 3, 2)}, {maximum()}};
}
const std::vector<Branch> kFork = {{row(384, 3)}, {column(384, 3)}};

Tensor block_e(Net& net, const std::string& name, const Tensor& x) {
  const Tensor one = chain(net, name + ".branch0", x, {same(320, 1)});
  const Tensor two = block(net, name + ".branch1.fork", chain(net, name + ".branch1", x, {same(384, 1)}), kFork);
  const Tensor stem = chain(net, name + ".branch2", x, {same(448, 1), same(384, 3)});
  const Tensor three = block(net, name + ".branch2.fork", stem, kFork);
  return concat({one, two, three, chain(net, name + ".branch3", x, {average(), same(192, 1)})});
}

Tensor auxiliary_logits(Net& net, const Tensor& x) {
  net.enter("auxiliary.pool");
  Tensor h = average_pool(x, {.kernel = 5, .stride = 3});
  h = chain(net, "auxiliary", h, {same(128, 1), valid(768, 5, 1)});
  return net.linear("auxiliary.fc", global_average_pool(h), kImageNetClasses);
}

Tensor inception_v3(Net& net, const Tensor& images) {
  Tensor x =
      chain(net, "stem", images,
            {valid(32, 3, 2), valid(32, 3, 1), same(64, 3), maximum(), same(80, 1), valid(192, 3, 1), maximum()});
  for (int i = 0; i < 3; ++i) x = block(net, "a" + std::to_string(i), x, block_a(i == 0 ? 32 : 64));
  x = block(net, "b", x, block_b());
  const std::vector<std::int64_t> widths = {128, 160, 160, 192};
  for (std::size_t i = 0; i < widths.size(); ++i) x = block(net, "c" + std::to_string(i), x, block_c(widths[i]));
  net.auxiliary = auxiliary_logits(net, x);
  x = block(net, "d", x, block_d());
  for (int i = 0; i < 2; ++i) x = block_e(net, "e" + std::to_string(i), x);
  x = dropout(global_average_pool(x));
  return net.linear("fc", x, kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered =
    register_classifier({.name = "inception_v3",
                         .summary = "training Inception-v3 with its auxiliary classifier (27.2 M parameters)",
                         .source = "Szegedy et al., Rethinking the Inception Architecture; torchvision, inception.py",
                         .image = 299,
                         .smallest_image = 299,
                         .forward = inception_v3});

}  // namespace
}  // namespace uvmsim::dnn
