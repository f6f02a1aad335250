#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

// Moves what faulted and nothing else: what uvm_perf_prefetch_enable=0 does.
class NoPrefetch final : public PrefetchPolicy {
 public:
  PageMask prefetch(const PrefetchView&) const override { return {}; }
};

const bool kRegistered =
    add_plug_in<PrefetchPolicy, NoPrefetch>({.name = "none",
                                             .summary = "move the faulted 4 KiB pages only",
                                             .source = "uvm_perf_prefetch.c: uvm_perf_prefetch_enable = 0",
                                             .on_hardware = "module parameter uvm_perf_prefetch_enable=0"});

}  // namespace
}  // namespace uvmsim
