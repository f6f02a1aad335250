#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

// Moves what faulted and nothing else: what uvm_perf_prefetch_enable=0 does.
class NoPrefetch final : public PrefetchPolicy {
 public:
  PageMask prefetch(const PrefetchView&) const override { return {}; }
};

const bool kRegistered = prefetch_policies().add(
    {"none", "move the faulted 4 KiB pages only", "uvm_perf_prefetch.c: uvm_perf_prefetch_enable = 0",
     [](const DriverConfig&, const DriverTraits&) { return std::make_unique<NoPrefetch>(); }});

}  // namespace
}  // namespace uvmsim
