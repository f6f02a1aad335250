#include "base/user_error.h"
#include "workload/sync_gradients.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct DdpOptions {
  Bytes bucket{25 << 20};
  int every = 1;

  static const Description& description() {
    static const Description d =
        Describe<DdpOptions>("ddp: replicas sum their gradients")
            .bytes("bucket", &DdpOptions::bucket,
                   "gradients that are summed together, while backward runs; PyTorch's bucket_cap_mb is 25 MiB",
                   {1, {}})
            .integer("every", &DdpOptions::every, "iterations over which gradients are accumulated", {1, 1000},
                     "iterations")
            .build();
    return d;
  }
};

class Ddp final : public With<Transform, DdpOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    for (const trace::Record& record : trace.records)
      if (std::holds_alternative<trace::CollectiveOp>(record))
        throw UserError(trace.header.name, "ddp selects nothing: the trace has collectives already");
    return sync_gradients(trace, {.bucket = options_.bucket, .every = options_.every});
  }
};

const bool kRegistered = add_plug_in<Transform, Ddp>(
    {.name = "ddp",
     .summary = "an all-reduce for each bucket of gradients; with data_parallel, over all GPUs",
     .source = "Li et al., PyTorch Distributed, VLDB 2020; Daydream, ATC 2020, section 5.1",
     .on_hardware = "torch.nn.parallel.DistributedDataParallel; gains only by more GPUs"});

}  // namespace
}  // namespace uvmsim
