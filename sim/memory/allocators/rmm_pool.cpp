#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"
#include "memory/free_list.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kAlignment = 256;  // CUDA_ALLOCATION_ALIGNMENT

std::int64_t aligned(std::int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

struct RmmPoolOptions {
  Bytes initial_pool{};
  Bytes maximum_pool{};

  static const Description& description() {
    static const Description d =
        Describe<RmmPoolOptions>("rmm_pool")
            .bytes("initial_pool", &RmmPoolOptions::initial_pool,
                   "taken from the driver when the pool is made; 0 B: half of the GPU's memory")
            .bytes("maximum_pool", &RmmPoolOptions::maximum_pool,
                   "most that the pool holds; it then grows by half of what is left, else it doubles; 0 B: no bound")
            .build();
    return d;
  }
  std::vector<std::string> contradictions(const std::string& /*memory*/) const {
    if (maximum_pool.value == 0 || initial_pool <= maximum_pool) return {};
    return {"initial_pool is larger than maximum_pool"};
  }
};

// RMM's pool_memory_resource: coalescing best fit with a list per stream. A stream that finds nothing in its list
// takes from another's, then merges all lists into its own, then grows the pool. Waiting for the other stream's event
// costs nothing here.
class RmmPool final : public Allocator {
 public:
  using Options = RmmPoolOptions;
  RmmPool(UpstreamMemory& upstream, const RmmPoolOptions& options)
      : upstream_(upstream), maximum_(options.maximum_pool.value / kAlignment * kAlignment) {
    std::int64_t initial = aligned(options.initial_pool.value);
    if (initial == 0) initial = aligned(upstream_.gpu_memory().value / 2);
    if (maximum_ > 0) initial = std::min(initial, maximum_);
    if (initial > 0)
      if (const auto block = from_upstream(initial)) free_[0].insert(*block);
  }

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = aligned(request.size.value);
    FreeList& own = free_[request.stream];
    std::optional<FreeList::Block> block = own.take_best(size);
    for (auto it = free_.begin(); !block && it != free_.end(); ++it)
      if (&it->second != &own) block = it->second.take_best(size);
    if (!block && merge_into(own)) block = own.take_best(size);
    if (!block) {
      const auto fresh = grow(size);
      if (!fresh) return std::nullopt;
      own.insert(*fresh);
      block = own.take_best(size);
    }
    used_[block->address] = {*block, request.stream};
    active_ += size;
    return block->address;
  }

  void free(VirtualAddress address) override {
    const auto found = used_.find(address);
    UVMSIM_CHECK(found != used_.end(), "only what was allocated is freed");
    const auto [block, stream] = found->second;
    active_ -= block.size;
    used_.erase(found);
    free_[stream].insert(block);
  }

  Bytes reserved() const override { return {reserved_}; }
  Bytes active() const override { return {active_}; }
  Bytes largest_free() const override {
    std::int64_t largest = 0;
    for (const auto& [stream, list] : free_) largest = std::max(largest, list.largest());
    return {largest};
  }

 private:
  // False when there is no other list.
  bool merge_into(FreeList& own) {
    for (auto& [stream, list] : free_)
      if (&list != &own) own.merge(list);
    return free_.size() > 1;
  }

  // What the pool grows by for `size`: half of what is left under the bound, or as much as it holds; halved while the
  // driver refuses, down to `size`.
  std::optional<FreeList::Block> grow(std::int64_t size) {
    const std::int64_t left = maximum_ - reserved_;
    if (maximum_ > 0 && size > left) return std::nullopt;
    std::int64_t wanted = std::max(size, aligned(maximum_ > 0 ? left / 2 : reserved_));
    for (;;) {
      if (const auto block = from_upstream(wanted)) return block;
      if (wanted == size) return std::nullopt;
      wanted = std::max(size, aligned(wanted / 2));
    }
  }

  std::optional<FreeList::Block> from_upstream(std::int64_t size) {
    const std::optional<VirtualAddress> segment = upstream_.allocate({size});
    if (!segment) return std::nullopt;
    reserved_ += size;
    return FreeList::Block{*segment, size, true};
  }

  struct Used {
    FreeList::Block block;
    int stream = 0;
  };

  UpstreamMemory& upstream_;
  std::int64_t maximum_;
  std::map<int, FreeList> free_;  // by stream
  std::unordered_map<VirtualAddress, Used> used_;
  std::int64_t reserved_ = 0, active_ = 0;
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Allocator, RmmPool>(
    {.name = "rmm_pool",
     .summary = "RMM's pool_memory_resource: coalescing best fit, doubles",
     .source = "rapidsai/rmm, pool_memory_resource.hpp, stream_ordered_memory_resource.hpp (2024)"});

}  // namespace
}  // namespace uvmsim
