#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/inception.h"

namespace uvmsim::dnn {
namespace {

using namespace inception;

// Squeezes to few channels, then expands these with kernels of 1 and of 3.
Tensor fire(Net& net, const std::string& name, const Tensor& x, std::int64_t squeeze, std::int64_t expand) {
  const Tensor squeezed = chain(net, name + ".squeeze", x, {plain(squeeze, 1)});
  return block(net, name + ".expand", squeezed, {{plain(expand, 1)}, {plain(expand, 3)}});
}

struct Variant {
  Step stem;
  std::vector<int> fires;  // before each pooling
};

// Fires 2i and 2i + 1 have 16 (i + 1) channels in the middle and four times as many on either side.
Tensor squeezenet(Net& net, const Tensor& images, const Variant& variant) {
  Tensor x = chain(net, "stem", images, {variant.stem});
  int fires = 0;
  for (std::size_t part = 0; part < variant.fires.size(); ++part) {
    x = chain(net, "pool" + std::to_string(part), x, {maximum_rounded_up()});
    for (int i = 0; i < variant.fires[part]; ++i, ++fires) {
      const std::int64_t squeeze = 16 * (fires / 2 + 1);
      x = fire(net, "fire" + std::to_string(fires), x, squeeze, 4 * squeeze);
    }
  }
  net.enter("classifier");
  return global_average_pool(chain(net, "classifier", dropout(x), {plain(kImageNetClasses, 1)}));
}

bool add_variant(const std::string& version, const std::string& parameters, const Variant& variant) {
  return register_classifier({.name = "squeezenet1_" + version,
                              .summary = "training SqueezeNet 1." + version + " (" + parameters + " M parameters)",
                              .source = "Iandola et al., SqueezeNet; torchvision, squeezenet.py",
                              .defaults = {.batch = 128, .torch = "2.x"},
                              .forward = [variant](Net& net, const Tensor& x) { return squeezenet(net, x, variant); }});
}

[[maybe_unused]] const bool kRegistered = add_variant("0", "1.25", {plain(96, 7, 2, 0), {3, 4, 1}}) &&
                                          add_variant("1", "1.24", {plain(64, 3, 2, 0), {2, 2, 4}});

}  // namespace
}  // namespace uvmsim::dnn
