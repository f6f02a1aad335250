#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

// Every fault brings its whole 2 MiB block. The density tree does the same at thresholds up to 3.
class WholeBlock final : public PrefetchPolicy {
 public:
  PageMask prefetch(const PrefetchView& view) const override {
    return PageMask::of(view.region) - view.faulted - view.thrashing;
  }
};

const bool kRegistered = add_plug_in<PrefetchPolicy, WholeBlock>(
    {.name = "whole_block",
     .summary = "fetch the whole 2 MiB block",
     .source = "a baseline; the upper end of uvm_perf_prefetch_threshold",
     .on_hardware = "module parameter uvm_perf_prefetch_threshold=1 (thresholds up to 3 do the same)"});

}  // namespace
}  // namespace uvmsim
