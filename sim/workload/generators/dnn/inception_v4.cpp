#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/inception.h"

namespace uvmsim::dnn {
namespace {

using namespace inception;

const std::vector<Branch> kStem1 = {{maximum()}, {valid(96, 3, 2)}};
const std::vector<Branch> kStem2 = {{same(64, 1), valid(96, 3, 1)},
                                    {same(64, 1), row(64, 7), column(64, 7), valid(96, 3, 1)}};
const std::vector<Branch> kStem3 = {{valid(192, 3, 2)}, {maximum()}};
const std::vector<Branch> kA = {
    {same(96, 1)}, {same(64, 1), same(96, 3)}, {same(64, 1), same(96, 3), same(96, 3)}, {average(), same(96, 1)}};
const std::vector<Branch> kReductionA = {
    {valid(384, 3, 2)}, {same(192, 1), same(224, 3), valid(256, 3, 2)}, {maximum()}};
const std::vector<Branch> kB = {{same(384, 1)},
                                {same(192, 1), row(224, 7), column(256, 7)},
                                {same(192, 1), column(192, 7), row(224, 7), column(224, 7), row(256, 7)},
                                {average(), same(128, 1)}};
const std::vector<Branch> kReductionB = {
    {same(192, 1), valid(192, 3, 2)}, {same(256, 1), row(256, 7), column(320, 7), valid(320, 3, 2)}, {maximum()}};
const std::vector<Branch> kFork = {{row(256, 3)}, {column(256, 3)}};

Tensor block_c(Net& net, const std::string& name, const Tensor& x) {
  const Tensor one = chain(net, name + ".branch0", x, {same(256, 1)});
  const Tensor two = block(net, name + ".branch1.fork", chain(net, name + ".branch1", x, {same(384, 1)}), kFork);
  const Tensor stem = chain(net, name + ".branch2", x, {same(384, 1), column(448, 3), row(512, 3)});
  const Tensor three = block(net, name + ".branch2.fork", stem, kFork);
  return concat({one, two, three, chain(net, name + ".branch3", x, {average(), same(256, 1)})});
}

Tensor inception_v4(Net& net, const Tensor& images) {
  Tensor x = chain(net, "stem0", images, {valid(32, 3, 2), valid(32, 3, 1), same(64, 3)});
  x = block(net, "stem1", x, kStem1);
  x = block(net, "stem2", x, kStem2);
  x = block(net, "stem3", x, kStem3);
  for (int i = 0; i < 4; ++i) x = block(net, "a" + std::to_string(i), x, kA);
  x = block(net, "reduction_a", x, kReductionA);
  for (int i = 0; i < 7; ++i) x = block(net, "b" + std::to_string(i), x, kB);
  x = block(net, "reduction_b", x, kReductionB);
  for (int i = 0; i < 3; ++i) x = block_c(net, "c" + std::to_string(i), x);
  return net.linear("fc", global_average_pool(x), kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered =
    register_classifier({.name = "inception_v4",
                         .summary = "training Inception-v4 (42.7 M parameters)",
                         .source = "Szegedy et al., Inception-v4; Cadene/pretrained-models, inceptionv4.py",
                         .image = 299,
                         .smallest_image = 75,
                         .forward = inception_v4});

}  // namespace
}  // namespace uvmsim::dnn
