#include "workload/generators/dnn/classifier.h"
#include "workload/generators/dnn/inception.h"

namespace uvmsim::dnn {
namespace {

using namespace inception;

// Widths of one block, in the order of the paper's table 1.
struct Widths {
  std::int64_t one, three_reduced, three, five_reduced, five, pooled;
};
constexpr Widths kWidths3[] = {{64, 96, 128, 16, 32, 32}, {128, 128, 192, 32, 96, 64}};
constexpr Widths kWidths4[] = {{192, 96, 208, 16, 48, 64},
                               {160, 112, 224, 24, 64, 64},
                               {128, 128, 256, 24, 64, 64},
                               {112, 144, 288, 32, 64, 64},
                               {256, 160, 320, 32, 128, 128}};
constexpr Widths kWidths5[] = {{256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128}};

std::vector<Branch> branches(const Widths& w) {
  return {{plain(w.one, 1)},
          {plain(w.three_reduced, 1), plain(w.three, 3)},
          {plain(w.five_reduced, 1), plain(w.five, 5)},
          {maximum_around(), plain(w.pooled, 1)}};
}

template <std::size_t N>
Tensor stage(Net& net, const std::string& name, Tensor x, const Widths (&widths)[N]) {
  for (std::size_t i = 0; i < N; ++i) x = block(net, name + "." + std::to_string(i), x, branches(widths[i]));
  return x;
}

// Without the two local response normalisations of its stem, and without its auxiliary classifiers.
Tensor googlenet(Net& net, const Tensor& images) {
  Tensor x = chain(net, "stem", images,
                   {plain(64, 7, 2), maximum_rounded_up(), plain(64, 1), plain(192, 3), maximum_rounded_up()});
  x = stage(net, "inception3", x, kWidths3);
  x = stage(net, "inception4", chain(net, "pool3", x, {maximum_rounded_up()}), kWidths4);
  x = stage(net, "inception5", chain(net, "pool4", x, {maximum_rounded_up()}), kWidths5);
  return net.linear("fc", dropout(global_average_pool(x)), kImageNetClasses);
}

[[maybe_unused]] const bool kRegistered = register_classifier(
    {.name = "googlenet",
     .summary = "training GoogLeNet (Inception-v1 without normalisation, 7.0 M parameters)",
     .source = "Szegedy et al., Going Deeper with Convolutions; Caffe, bvlc_googlenet without its LRN and classifiers",
     .defaults = {.batch = 128, .torch = "2.x"},
     .forward = googlenet});

}  // namespace
}  // namespace uvmsim::dnn
