#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"
#include "memory/free_list.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kSuperblock = 1 << 20;  // larger requests go to the global arena itself

struct RmmArenaOptions {
  Bytes arena_size{};

  static const Description& description() {
    static const Description d = Describe<RmmArenaOptions>("rmm_arena")
                                     .bytes("arena_size", &RmmArenaOptions::arena_size,
                                            "the global arena, taken from the driver once and never grown; 0 B: half "
                                            "of the memory the GPU has left")
                                     .build();
    return d;
  }
};

// RMM's arena_memory_resource: one global arena that never grows, and an arena per stream that takes 1 MiB superblocks
// from it and returns each as soon as it is empty. Address-ordered first fit everywhere.
//
// RMM rounds requests to 117 size classes when it is built so; this is the default, multiples of 256 B. There, empty
// superblocks return when a large free or a failed request cleans up; here at once.
class RmmArena final : public Allocator {
 public:
  using Options = RmmArenaOptions;
  RmmArena(UpstreamMemory& upstream, const RmmArenaOptions& options)
      : upstream_(upstream), size_(options.arena_size.value / kAlignment * kAlignment) {
    if (size_ == 0) size_ = upstream_.available().value / 2 / kAlignment * kAlignment;
  }

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = (request.size.value + kAlignment - 1) / kAlignment * kAlignment;
    if (!reserve(size)) return std::nullopt;
    const bool large = size > kSuperblock;
    std::optional<FreeList::Block> block = large ? global_.take_first(size) : from_stream(size, request.stream);
    if (!block) return std::nullopt;
    used_[block->address] = {*block, large ? kGlobal : request.stream};
    active_ += size;
    return block->address;
  }

  void free(VirtualAddress address) override {
    const auto found = used_.find(address);
    UVMSIM_CHECK(found != used_.end(), "only what was allocated is freed");
    const auto [block, owner] = found->second;
    active_ -= block.size;
    used_.erase(found);
    if (owner == kGlobal) return global_.insert(block);
    FreeList& list = streams_[owner];
    list.insert(block);
    auto superblock = superblocks_.upper_bound(address);
    --superblock;
    if (!list.has(superblock->first, kSuperblock)) return;
    list.take(superblock->first);
    global_.insert({superblock->first, kSuperblock, superblock->second});
    superblocks_.erase(superblock);
  }

  Bytes reserved() const override { return {reserved_}; }
  Bytes active() const override { return {active_}; }
  Bytes largest_free() const override {
    std::int64_t largest = global_.largest();
    for (const auto& [stream, list] : streams_) largest = std::max(largest, list.largest());
    return {largest};
  }

 private:
  static constexpr int kGlobal = -1;

  // The global arena, taken with the first request. Where the memory of the GPU is not known it is as large as that
  // request, and another follows whenever nothing fits.
  bool reserve(std::int64_t request) {
    if (size_ > 0 && reserved_ > 0) return true;
    if (size_ == 0 && global_.largest() >= std::max(request, kSuperblock)) return true;
    const std::int64_t size = size_ > 0 ? size_ : std::max(request, kSuperblock);
    const std::optional<VirtualAddress> segment = upstream_.allocate({size});
    if (!segment) return false;
    reserved_ += size;
    global_.insert({*segment, size, true});
    return true;
  }

  std::optional<FreeList::Block> from_stream(std::int64_t size, int stream) {
    FreeList& list = streams_[stream];
    if (auto block = list.take_first(size)) return block;
    const std::optional<FreeList::Block> superblock = global_.take_first(kSuperblock);
    if (!superblock) return std::nullopt;
    superblocks_[superblock->address] = superblock->head;
    list.insert({superblock->address, kSuperblock, true});  // superblocks of one stream do not merge
    return list.take_first(size);
  }

  struct Used {
    FreeList::Block block;
    int owner = 0;
  };

  UpstreamMemory& upstream_;
  std::int64_t size_;  // of the global arena; 0: not known
  FreeList global_;
  std::map<int, FreeList> streams_;
  std::map<VirtualAddress, bool> superblocks_;  // of the streams; whether one starts a driver allocation
  std::unordered_map<VirtualAddress, Used> used_;
  std::int64_t reserved_ = 0, active_ = 0;
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Allocator, RmmArena>(
    {.name = "rmm_arena",
     .summary = "RMM's arena_memory_resource: one arena, superblocks per stream, first fit",
     .source = "rapidsai/rmm, arena_memory_resource.hpp and detail/arena.hpp (2021-2024)"});

}  // namespace
}  // namespace uvmsim
