#include "workload/split_batch.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct SubBatchOptions {
  int passes = 2;

  static const Description& description() {
    static const Description d =
        Describe<SubBatchOptions>("sub_batches: gradient accumulation over parts of the batch")
            .integer("passes", &SubBatchOptions::passes, "forward and backward passes of an iteration", {2, 1024})
            .build();
    return d;
  }
};

// See split_batch.h.
class SubBatches final : public With<Transform, SubBatchOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override { return split_batch(std::move(trace), options_.passes); }
  trace::Trace apply_on(trace::Trace trace, const GpuSpec& gpu) const override {
    return split_batch(std::move(trace), options_.passes, &gpu);
  }
};

const bool kRegistered = add_plug_in<Transform, SubBatches>(
    {.name = "sub_batches",
     .summary = "each batch in parts, whose gradients are summed before one step of the optimizer",
     .source =
         "Chen et al., moDNN: Memory Optimal DNN Training on GPUs, DATE 2018; micro-batches of Huang et al., GPipe, "
         "NeurIPS 2019",
     .on_hardware = "loss / n and backward() n times before optimizer.step(); batch norms see the parts' statistics"});

}  // namespace
}  // namespace uvmsim
