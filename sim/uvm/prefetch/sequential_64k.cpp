#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

// Each faulted page brings the aligned 64 KiB it lies in, and that is all: the tree's growth without the tree.
class Sequential64K final : public PrefetchPolicy {
 public:
  PageMask prefetch(const PrefetchView& view) const override {
    PageMask out;
    for (std::uint32_t first = 0; first < kPagesPerBlock; first += kPagesPerBigPage) {
      const PageRegion big_page{first, first + kPagesPerBigPage};
      if (view.faulted.count(big_page) > 0) out.set(big_page);
    }
    return (out & PageMask::of(view.region)) - view.faulted - view.thrashing;
  }
};

const bool kRegistered =
    add_plug_in<PrefetchPolicy, Sequential64K>({.name = "sequential_64k",
                                                .summary = "fetch the aligned 64 KiB around each fault",
                                                .source = "Ganguly et al., ISCA 2019: sequential-local prefetcher",
                                                .on_hardware = "module parameter uvm_perf_prefetch_threshold=99"});

}  // namespace
}  // namespace uvmsim
