#include "workload/parallel_products.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

class Metaflow final : public With<Transform, ParallelProducts> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    trace = fuse_parallel_products(std::move(trace), options_, "metaflow");
    note_transform(trace, "parallel products fused");
    return trace;
  }
};

const bool kRegistered = add_plug_in<Transform, Metaflow>(
    {.name = "metaflow",
     .summary = "parallel convolutions and matrix products of one input as one kernel that reads it once, and so their "
                "gradients",
     .source = "Jia et al., Optimizing DNN Computation with Relaxed Graph Substitutions, SysML 2019, section 3; "
               "Daydream, ATC 2020, section 5.2",
     .on_hardware = "a compiler that substitutes graphs, or weights that are concatenated by hand"});

}  // namespace
}  // namespace uvmsim
