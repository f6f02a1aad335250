#include <set>
#include <string>

#include "base/user_error.h"
#include "workload/channels.h"
#include "workload/edit.h"
#include "workload/retarget.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct PruneOptions {
  double fraction = 0.2;
  std::string layer, except;

  static const Description& description() {
    static const Description d =
        Describe<PruneOptions>("prune: convolutions with fewer filters")
            .number("fraction", &PruneOptions::fraction, "share of each convolution's filters that goes (an input)",
                    {0, 0.99})
            .text("layer", &PruneOptions::layer,
                  "of the layers that lose filters, a part of the name, or two with * between them; \"\": all")
            .text("except", &PruneOptions::except, "layers that lose none, by their names, with spaces between them")
            .build();
    return d;
  }
};

// The filters with the smallest weights go, the same share of each layer: their output channels, and what the layers
// behind read of these. Sizes of tensors and arithmetic follow by channels, durations by the roofline.
class Prune final : public With<Transform, PruneOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    const std::set<std::string, std::less<>> pruned = layers_of(trace);
    if (pruned.empty()) throw UserError(trace.header.name, "prune selects nothing: there is no convolution");
    const RemainingShares left = remaining_channels(
        trace, [&](std::string_view layer) { return pruned.contains(layer) ? 1 - options_.fraction : 1; });
    const trace::Trace before = trace;
    for (std::size_t i = 0; i < trace.records.size(); ++i)
      if (auto* kernel = std::get_if<trace::Kernel>(&trace.records[i])) kernel->flops *= left.arithmetic[i];
    scale_tensors(trace, [&](std::size_t i, std::string_view, std::string_view) { return left.bytes[i]; });
    scale_by_roofline(before, trace);
    note_transform(trace, "pruned");
    return trace;
  }

 private:
  // With a convolution.
  std::set<std::string, std::less<>> layers_of(const trace::Trace& trace) const {
    std::set<std::string, std::less<>> layers;
    for (const KernelPlace& k : select(trace, [this](const KernelPlace& p) { return is_convolution(p); }))
      if (takes(k.layer)) layers.emplace(k.layer);
    return layers;
  }
  static bool is_convolution(const KernelPlace& k) {
    return multiplies_matrices(k.kernel_class) && k.name.find("conv") != std::string_view::npos;
  }
  bool takes(std::string_view layer) const {
    const std::string_view wanted = options_.layer;
    const std::size_t star = wanted.find('*');
    const std::size_t found = layer.find(wanted.substr(0, star));
    if (found == std::string_view::npos ||
        (" " + options_.except + " ").find(" " + std::string(layer) + " ") != std::string::npos)
      return false;
    return star == std::string_view::npos ||
           layer.find(wanted.substr(star + 1), found + star) != std::string_view::npos;
  }
};

const bool kRegistered =
    add_plug_in<Transform, Prune>({.name = "prune",
                                   .summary = "convolutions with fewer filters, and the channels that go with them",
                                   .source = "Li et al., Pruning Filters for Efficient ConvNets, ICLR 2017, section 3",
                                   .on_hardware = "training again after pruning; accuracy"});

}  // namespace
}  // namespace uvmsim
