#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct ScaleOptions {
  KernelSelection select;
  double factor = 0.5;

  static const Description& description() {
    static const Description d =
        Describe<ScaleOptions>("scale_kernels: some kernels faster or slower")
            .part(&ScaleOptions::select, KernelSelection::description())
            .number("factor", &ScaleOptions::factor, "what they take, in times of what they took", {0, 1000})
            .build();
    return d;
  }
};

class ScaleKernels final : public With<Transform, ScaleOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    options_.select.require("scale_kernels");
    const std::vector<KernelPlace> kernels =
        select(trace, [this](const KernelPlace& k) { return options_.select.takes(k); });
    if (kernels.empty()) throw UserError(trace.header.name, "scale_kernels selects nothing: no kernel has such names");
    for (const KernelPlace& k : kernels) scale(trace, k.record, options_.factor);
    note_transform(trace, "kernels scaled");
    return trace;
  }
};

const bool kRegistered = add_plug_in<Transform, ScaleKernels>(
    {.name = "scale_kernels",
     .summary = "the kernels with these names, times a factor",
     .source = "Zhu et al., Daydream, ATC 2020, section 4.3: select and scale; substitutions as MetaFlow's by what "
               "their kernels take",
     .on_hardware = "kernels that much faster"});

}  // namespace
}  // namespace uvmsim
