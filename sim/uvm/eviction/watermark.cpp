#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

struct WatermarkOptions {
  double low = 0.01, high = 0.02;
  static const Description& description() {
    using O = WatermarkOptions;
    static const Description d =
        Describe<O>("watermark: how much stays free")
            .number("low", &O::low, "share of the GPU's memory below which background eviction starts (assumed)",
                    {0, 1})
            .number("high", &O::high, "share of the GPU's memory at which it stops (assumed)", {0, 1})
            .build();
    return d;
  }
};

// The driver's order, off the fault path: a thread of its own evicts while less than `low` is free, until `high` is.
class Watermark final : public EvictionPolicy {
 public:
  using Options = WatermarkOptions;
  explicit Watermark(const WatermarkOptions& options) : options_(options) {}
  EvictionNeeds needs() const override { return {.ahead = true}; }
  RootChunkIndex victim(const EvictionView& view) override { return driver_victim(view); }
  bool wants_free(const EvictionView& view) override {
    const auto free = static_cast<double>(view.free_chunks()), total = static_cast<double>(view.total_chunks());
    if (free < options_.low * total) evicting_ = true;
    if (free >= options_.high * total) evicting_ = false;
    return evicting_;
  }

 private:
  WatermarkOptions options_;
  bool evicting_ = false;
};

const bool kRegistered = add_plug_in<EvictionPolicy, Watermark>(
    {.name = "watermark",
     .summary = "the driver's order; a background thread keeps a share of memory free",
     .source = "Ganguly et al., ISCA 2019: percentage_of_free_page_buffer of UVMSmart; as kswapd",
     .on_hardware = "another nvidia-uvm: an eviction thread"});

}  // namespace
}  // namespace uvmsim
