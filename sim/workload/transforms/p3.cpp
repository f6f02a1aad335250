#include "workload/edit.h"
#include "workload/priority_sync.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct P3Options {
  Bytes slice{200'000};
  bool priority = true;

  static const Description& description() {
    static const Description d =
        Describe<P3Options>("p3: gradients in slices to parameter servers, the first layers' first")
            .bytes("slice", &P3Options::slice,
                   "the most that is pushed and pulled at once; 50,000 parameters were best (section 5.6; from memory)",
                   {1, {}})
            .flag(
                "priority", &P3Options::priority,
                "the parameters that the forward pass needs first go first; otherwise in the order in which gradients "
                "are ready, as without P3")
            .build();
    return d;
  }
};

class P3 final : public With<Transform, P3Options> {
 public:
  Needs needs() const override { return Needs::Replicas; }

  trace::Trace apply(trace::Trace trace) const override {
    trace::Trace sliced =
        sync_by_priority(std::move(trace), {.slice = options_.slice, .prioritised = options_.priority}, "p3");
    note_transform(sliced, "gradients in slices by priority");
    return sliced;
  }
};

const bool kRegistered = add_plug_in<Transform, P3>(
    {.name = "p3",
     .summary = "slices of gradients pushed to parameter servers by priority, which take the optimizer's steps",
     .source = "Jayarajan et al., Priority-based Parameter Propagation, MLSys 2019; Daydream, ATC 2020, section 5.1",
     .on_hardware = "a parameter server with a priority queue (anandj91/p3, of MXNet); gains only by more GPUs"});

}  // namespace
}  // namespace uvmsim
