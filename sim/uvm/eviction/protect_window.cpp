#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

struct ProtectWindowOptions {
  double free = 0.01;
  bool drop_inactive = true;
  static const Description& description() {
    using O = ProtectWindowOptions;
    static const Description d =
        Describe<O>("protect_window: DeepUM's pre-eviction")
            .number("free", &O::free, "share of the GPU's memory that background eviction keeps free (assumed)", {0, 1})
            .flag("drop_inactive", &O::drop_inactive,
                  "whether pages that the framework's allocator holds free are dropped instead of copied")
            .build();
    return d;
  }
};

// Least recently migrated among the chunks that the prefetch policy does not expect to be used in its window, ahead of
// need. With a prefetch policy that expects nothing it is a watermark.
class ProtectWindow final : public EvictionPolicy {
 public:
  using Options = ProtectWindowOptions;
  explicit ProtectWindow(const ProtectWindowOptions& options) : options_(options) {}
  EvictionNeeds needs() const override {
    return {.tensors = options_.drop_inactive, .drops_inactive = options_.drop_inactive, .ahead = true};
  }
  RootChunkIndex victim(const EvictionView& view) override {
    return first_in_driver_order(view, [&](RootChunkIndex chunk) { return !view.expected(chunk); });
  }
  bool wants_free(const EvictionView& view) override {
    return static_cast<double>(view.free_chunks()) < options_.free * static_cast<double>(view.total_chunks());
  }

 private:
  ProtectWindowOptions options_;
};

const bool kRegistered = add_plug_in<EvictionPolicy, ProtectWindow>(
    {.name = "protect_window",
     .summary = "evict early what the prefetcher does not expect to be used soon; drop what the allocator holds free",
     .source = "Jung et al., ASPLOS 2023 (DeepUM): pre-eviction and invalidation",
     .on_hardware = "another nvidia-uvm and allocator"});

}  // namespace
}  // namespace uvmsim
