#include "plan/call_policy.h"
#include "plan/tensor_lives.h"

namespace uvmsim {
namespace {

struct AllocationPrefetchOptions {
  Bytes min_bytes{2 << 20};

  static const Description& description() {
    using O = AllocationPrefetchOptions;
    static const Description d =
        Describe<O>("cudaMemPrefetchAsync of each tensor when the framework allocates it")
            .bytes("min_bytes", &O::min_bytes, "smaller tensors are left to faults; default: one 2 MiB block")
            .build();
    return d;
  }
};

class AllocationPrefetch final : public With<CallPolicy, AllocationPrefetchOptions> {
 public:
  std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const override {
    const TensorLives lives(trace, setting.placement.memory);
    std::vector<InsertedCall> calls;
    for (const TensorLife& life : lives.all())
      if (lives.managed(life) && life.alloc.bytes >= options_.min_bytes.value)
        calls.push_back({life.allocated + 1, trace::Prefetch{.tensor = life.alloc.tensor,
                                                             .destination = life.alloc.device,
                                                             .stream = life.alloc.stream}});
    return calls;
  }
};

const bool kRegistered = add_plug_in<CallPolicy, AllocationPrefetch>(
    {.name = "allocation_prefetch",
     .summary = "prefetch each tensor when it is allocated, also where a cached block is used again",
     .source = "Sakharnykh et al., GTC 2019: cudaMemPrefetchAsync right after each allocation, per tensor instead of "
               "per segment"});

}  // namespace
}  // namespace uvmsim
