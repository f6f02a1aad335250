#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"
#include "memory/free_list.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kGranularity = 512;  // CNMEM_GRANULARITY

struct CnmemOptions {
  Bytes initial_pool{};

  static const Description& description() {
    static const Description d =
        Describe<CnmemOptions>("cnmem")
            .bytes("initial_pool", &CnmemOptions::initial_pool,
                   "taken from the driver when the pool is made; 0 B: half of the GPU's memory, as RMM did in 2019")
            .build();
    return d;
  }
};

// The pool of RMM in 2019. Best fit, every block split to the byte (of 512), and when nothing fits one driver
// allocation of exactly what was asked for. Nothing goes back to the driver, and blocks never merge across driver
// allocations. Stream 0 uses the root's list; any other stream has a list of its own that takes from the root, and
// when the driver has nothing left, from the other streams, after waiting for them.
class Cnmem final : public Allocator {
 public:
  using Options = CnmemOptions;
  Cnmem(UpstreamMemory& upstream, const CnmemOptions& options) : upstream_(upstream) {
    std::int64_t initial = options.initial_pool.value;
    if (initial == 0) initial = upstream_.gpu_memory().value / 2;
    initial = initial / kGranularity * kGranularity;
    if (initial > 0)
      if (const auto block = grow(initial)) free_[kRoot].insert(*block);
  }

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = (request.size.value + kGranularity - 1) / kGranularity * kGranularity;
    std::optional<FreeList::Block> block = free_[request.stream].take_best(size);
    if (!block && request.stream != kRoot) block = from_root(size);
    if (!block && request.stream == kRoot) block = grow(size);
    if (!block) block = steal(size, request.stream);
    if (!block) return std::nullopt;
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
  static constexpr int kRoot = 0;

  std::optional<FreeList::Block> grow(std::int64_t size) {
    const std::optional<VirtualAddress> segment = upstream_.allocate({size});
    if (!segment) return std::nullopt;
    upstream_.prefetch(*segment);  // cudaMemPrefetchAsync of managed memory, part of growing
    reserved_ += size;
    return FreeList::Block{*segment, size, true};
  }

  // For a stream's list, what the root hands out starts an allocation of its own.
  std::optional<FreeList::Block> from_root(std::int64_t size) {
    std::optional<FreeList::Block> block = free_[kRoot].take_best(size);
    if (!block) return grow(size);
    block->head = true;
    return block;
  }

  std::optional<FreeList::Block> steal(std::int64_t size, int thief) {
    for (auto& [stream, list] : free_) {
      if (stream == thief || stream == kRoot) continue;
      upstream_.synchronize(stream);
      if (auto block = list.take_best(size)) {
        block->head = true;
        return block;
      }
    }
    return std::nullopt;
  }

  struct Used {
    FreeList::Block block;
    int stream = 0;
  };

  UpstreamMemory& upstream_;
  std::map<int, FreeList> free_;  // by stream; the root's first
  std::unordered_map<VirtualAddress, Used> used_;
  std::int64_t reserved_ = 0, active_ = 0;
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Allocator, Cnmem>({.name = "cnmem",
                                   .summary = "the pool of RMM in 2019: best fit, grows by exactly the request",
                                   .source = "NVIDIA/cnmem, src/cnmem.cpp at 37896cc; rmm of March 2019"});

}  // namespace
}  // namespace uvmsim
