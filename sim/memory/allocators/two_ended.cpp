#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"
#include "memory/free_list.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kGranularity = 512;

struct TwoEndedOptions {
  Bytes pool{};
  std::int64_t short_lived_kernels = 16;
  static constexpr bool kWantsLifetimes = true;

  static const Description& description() {
    static const Description d =
        Describe<TwoEndedOptions>("two_ended")
            .bytes("pool", &TwoEndedOptions::pool,
                   "the pool, taken from the driver once; 0 B: all the memory the GPU has left")
            .integer("short_lived_kernels", &TwoEndedOptions::short_lived_kernels,
                     "an allocation that is freed before this many more kernels are launched is short-lived "
                     "(assumed: about the kernels of one layer and its backward pass)",
                     {1, {}}, "kernels")
            .build();
    return d;
  }
};

// One pool filled from two ends, so that what comes and goes does not cut up the space of what stays: short-lived
// allocations first fit from the low end, all others from the high end. Knows lifetimes, as systems that profile an
// iteration first do. More than the pool is one more driver allocation of that size.
class TwoEnded final : public Allocator {
 public:
  using Options = TwoEndedOptions;
  TwoEnded(UpstreamMemory& upstream, const TwoEndedOptions& options)
      : upstream_(upstream), pool_(options.pool.value), short_lived_(options.short_lived_kernels) {
    if (pool_ == 0) pool_ = upstream_.available().value;
    pool_ = pool_ / kGranularity * kGranularity;
  }

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = (request.size.value + kGranularity - 1) / kGranularity * kGranularity;
    if (reserved_ == 0 && pool_ > 0) grow(pool_);
    const bool short_lived = request.kernels != AllocationRequest::kForever && request.kernels < short_lived_;
    const auto take = [&] { return short_lived ? free_.take_first(size) : free_.take_last(size); };
    std::optional<FreeList::Block> block = take();
    if (!block && grow(size)) block = take();
    if (!block) return std::nullopt;
    used_[block->address] = *block;
    active_ += size;
    return block->address;
  }

  void free(VirtualAddress address) override {
    const auto found = used_.find(address);
    UVMSIM_CHECK(found != used_.end(), "only what was allocated is freed");
    active_ -= found->second.size;
    free_.insert(found->second);
    used_.erase(found);
  }

  Bytes reserved() const override { return {reserved_}; }
  Bytes active() const override { return {active_}; }
  Bytes largest_free() const override { return {free_.largest()}; }

 private:
  bool grow(std::int64_t size) {
    const std::optional<VirtualAddress> segment = upstream_.allocate({size});
    if (!segment) return false;
    reserved_ += size;
    free_.insert({*segment, size, true});
    return true;
  }

  UpstreamMemory& upstream_;
  std::int64_t pool_;
  std::int64_t short_lived_;
  FreeList free_;
  std::unordered_map<VirtualAddress, FreeList::Block> used_;
  std::int64_t reserved_ = 0, active_ = 0;
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Allocator, TwoEnded>(
    {.name = "two_ended",
     .summary = "one pool; short-lived allocations from one end, the others from the other",
     .source = "vDNN++ (shriramsb/vdnn-plus-plus); FlashNeuron, FAST 2021"});

}  // namespace
}  // namespace uvmsim
