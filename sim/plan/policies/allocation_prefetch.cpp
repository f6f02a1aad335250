#include "plan/call_policy.h"
#include "plan/tensor_lives.h"

namespace uvmsim {
namespace {

struct AllocationPrefetchOptions {
  Bytes min_bytes{2 << 20};
};

struct AllocationPrefetch {
  AllocationPrefetchOptions options;

  static const Description& describe() {
    using O = AllocationPrefetchOptions;
    static const Description d =
        Describe<O>("cudaMemPrefetchAsync of each tensor when the framework allocates it")
            .bytes("min_bytes", &O::min_bytes, "smaller tensors are left to faults; default: one 2 MiB block")
            .build();
    return d;
  }

  std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const {
    const TensorLives lives(trace, setting.placement.memory);
    std::vector<InsertedCall> calls;
    for (const TensorLife& life : lives.all())
      if (lives.managed(life) && life.alloc.bytes >= options.min_bytes.value)
        calls.push_back({life.allocated + 1, trace::Prefetch{.tensor = life.alloc.tensor,
                                                             .destination = life.alloc.device,
                                                             .stream = life.alloc.stream}});
    return calls;
  }
};

const bool kRegistered = add_call_policy<AllocationPrefetch>(
    "allocation_prefetch", "prefetch each tensor when it is allocated, also where a cached block is used again",
    "Sakharnykh et al., GTC 2019: cudaMemPrefetchAsync right after each allocation, per tensor instead of per segment");

}  // namespace
}  // namespace uvmsim
