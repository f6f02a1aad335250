#include "plan/planner.h"
#include "plan/written_out.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct VdnnTransformOptions {
  std::string mode = "conv";
  Bytes min_bytes{};

  static const Description& description() {
    using O = VdnnTransformOptions;
    static const Description d =
        Describe<O>("vdnn: the program copies feature maps to the host and back itself")
            .text("mode", &O::mode, "inputs of convolutions, or of all layers of the feature extractor",
                  {"conv", "all"})
            .bytes("min_bytes", &O::min_bytes, "smaller feature maps stay")
            .build();
    return d;
  }
};

// The planner vdnn's choice, copied by the program: a check of either by the other.
class VdnnTransform final : public With<Transform, VdnnTransformOptions> {
 public:
  Needs needs() const override { return Needs::DeviceMemory; }

  trace::Trace apply(trace::Trace trace) const override {
    const auto planner = planners().find("vdnn")->make();
    parameter<std::string>(*planner, "mode") = options_.mode;
    parameter<std::string>(*planner, "algorithms") = "recorded";
    parameter<Bytes>(*planner, "min_bytes") = options_.min_bytes;
    // Of the rate that profiles are made with, the choice does not depend.
    trace::Trace program = written_out(trace, *planner, BytesPerSecond{12'800'000'000}, "vdnn");
    note_transform(program, "feature maps copied to the host and back");
    return program;
  }
};

const bool kRegistered = add_plug_in<Transform, VdnnTransform>(
    {.name = "vdnn",
     .summary = "copies of feature maps to the host in the forward pass, and back a layer ahead",
     .source = "Rhu et al., vDNN, MICRO 2016; Daydream, ATC 2020, section 5.2",
     .on_hardware = "a framework's memory manager with streams of its own and pinned host memory"});

}  // namespace
}  // namespace uvmsim
