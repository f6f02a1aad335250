#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/retarget.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct PruneOptions {
  double fraction = 0.2;
  std::string layer;

  static const Description& description() {
    static const Description d =
        Describe<PruneOptions>("prune: convolutions with fewer filters")
            .number("fraction", &PruneOptions::fraction, "share of each convolution's filters that goes (an input)",
                    {0, 0.99})
            .text("layer", &PruneOptions::layer, "a part of the names of the layers that lose filters; \"\": all")
            .build();
    return d;
  }
};

// Durations by arithmetic: a convolution has fewer filters, and as its input the fewer channels that the one before it
// makes. Sizes of tensors stay.
class Prune final : public With<Transform, PruneOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    const double kept = 1 - options_.fraction;
    bool any = false;
    for (const KernelPlace& k : select(trace, [this](const KernelPlace& p) { return takes(p); })) {
      any |= is_convolution(k);
      scale(trace, k.record, is_convolution(k) ? kept * kept : kept);
    }
    if (!any) throw UserError(trace.header.name, "prune selects nothing: there is no convolution");
    note_transform(trace, "pruned");
    return trace;
  }

 private:
  static bool is_convolution(const KernelPlace& k) {
    return multiplies_matrices(k.kernel_class) && k.name.find("conv") != std::string_view::npos;
  }
  bool takes(const KernelPlace& k) const {
    const bool in_layer = options_.layer.empty() || k.layer.find(options_.layer) != std::string_view::npos;
    using Class = dnn::KernelClass;
    return in_layer && (is_convolution(k) || k.kernel_class == Class::BatchNorm || k.kernel_class == Class::Pointwise);
  }
};

const bool kRegistered =
    add_plug_in<Transform, Prune>({.name = "prune",
                                   .summary = "convolutions with fewer filters, and what works on their outputs",
                                   .source = "Li et al., Pruning Filters for Efficient ConvNets, ICLR 2017",
                                   .on_hardware = "training again after pruning; accuracy"});

}  // namespace
}  // namespace uvmsim
