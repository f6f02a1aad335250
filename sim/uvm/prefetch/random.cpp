#include "base/scramble.h"
#include "base/seed.h"
#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

struct RandomPrefetchOptions {
  std::int64_t seed = kSeed;
  static const Description& description() {
    static const Description d =
        Describe<RandomPrefetchOptions>("random: one more page of the block")
            .integer("seed", &RandomPrefetchOptions::seed, "what the random numbers depend on", {0, {}})
            .build();
    return d;
  }
};

// Each faulted page brings one other page of its block. Which one is a hash of the fault and of how full the block is:
// the same view gives the same answer.
class RandomPages final : public PrefetchPolicy {
 public:
  using Options = RandomPrefetchOptions;
  explicit RandomPages(const RandomPrefetchOptions& options) : seed_(static_cast<std::uint64_t>(options.seed)) {}
  PageMask prefetch(const PrefetchView& view) const override {
    PageMask out;
    const auto full = static_cast<std::uint64_t>(view.resident.count());
    for_each_page(view.faulted, [&](std::uint32_t page) {
      const std::uint64_t draw = scramble(seed_ ^ (full << 32 | page));
      out.set(view.region.first + static_cast<std::uint32_t>(draw % view.region.page_count()));
    });
    return out - view.faulted - view.thrashing;
  }

 private:
  std::uint64_t seed_;
};

const bool kRegistered = add_plug_in<PrefetchPolicy, RandomPages>(
    {.name = "random",
     .summary = "fetch one more 4 KiB page of the block for each fault (seeded, repeatable)",
     .source = "Ganguly et al., ISCA 2019: random prefetcher",
     .on_hardware = "another nvidia-uvm: compute_prefetch_mask"});

}  // namespace
}  // namespace uvmsim
