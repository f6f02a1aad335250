#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kRoundSmall = 512;        // small requests are multiples of this
constexpr std::int64_t kRoundLarge = 128 << 10;  // requests of 1 MiB and more are multiples of this
constexpr std::int64_t kSmallAlloc = 1 << 20;    // up to here a request is small, and its segment this big

// PyTorch 1.0's caching allocator: two pools of blocks, best fit, nothing returned to the driver until
// cudaMalloc fails. A block belongs to the stream it was allocated for. There is no bound on the waste of a
// best fit: a 3 MB request may take, and split, an 8 GB block.
class Torch10 final : public Allocator {
 public:
  Torch10(UpstreamMemory& upstream, const NoOptions&) : upstream_(upstream) {}

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = rounded(request.size.value);
    const int stream = request.stream;
    const bool small = size <= kSmallAlloc;
    Pool& pool = small ? small_ : large_;
    const auto fit = pool.lower_bound({stream, size, 0});
    VirtualAddress address = 0;
    if (fit != pool.end() && fit->stream == stream) {
      address = fit->address;
      pool.erase(fit);
    } else if (const auto segment = new_segment(size, stream)) {
      address = *segment;
    } else {
      return std::nullopt;
    }
    Block& block = blocks_.at(address);
    block.allocated = true;
    split(address, block, size);
    active_ += block.size;
    return address;
  }

  void free(VirtualAddress address) override {
    const auto found = blocks_.find(address);
    UVMSIM_CHECK(found != blocks_.end() && found->second.allocated, "only what was allocated is freed");
    found->second.allocated = false;
    active_ -= found->second.size;
    const VirtualAddress previous = found->second.previous;
    if (is_free(previous)) {
      pool_of(blocks_.at(previous)).erase(key(previous));
      join(previous, address);
      address = previous;
    }
    const VirtualAddress next = blocks_.at(address).next;
    if (is_free(next)) {
      pool_of(blocks_.at(next)).erase(key(next));
      join(address, next);
    }
    insert_free(address);
  }

  Bytes reserved() const override { return {reserved_}; }
  Bytes active() const override { return {active_}; }
  Bytes largest_free() const override {
    std::int64_t largest = 0;
    for (const Pool* pool : {&small_, &large_})
      for (const FreeBlock& block : *pool) largest = std::max(largest, block.size);
    return {largest};
  }
  std::int64_t cache_flushes() const override { return cache_flushes_; }

 private:
  static constexpr VirtualAddress kNone = 0;

  // A piece of a segment. `previous` and `next` are its neighbours in the segment.
  struct Block {
    std::int64_t size = 0;
    VirtualAddress previous = kNone, next = kNone;
    int stream = 0;
    bool small = false;
    bool allocated = false;
  };

  // Order of a pool, hence of the search: the smallest block that fits, of these the lowest address.
  struct FreeBlock {
    int stream;
    std::int64_t size;
    VirtualAddress address;
    friend auto operator<=>(const FreeBlock&, const FreeBlock&) = default;
  };
  using Pool = std::set<FreeBlock>;

  static std::int64_t rounded(std::int64_t size) {
    if (size < kRoundSmall) return kRoundSmall;
    const std::int64_t unit = size < kSmallAlloc ? kRoundSmall : kRoundLarge;
    return (size + unit - 1) / unit * unit;
  }

  // cudaMalloc of a segment for `size` bytes; when it fails, once more after returning the cache.
  std::optional<VirtualAddress> new_segment(std::int64_t size, int stream) {
    const std::int64_t bytes = size <= kSmallAlloc ? kSmallAlloc : size;
    std::optional<VirtualAddress> segment = upstream_.allocate(Bytes{bytes});
    if (!segment) {
      ++cache_flushes_;
      free_cached_blocks(large_);
      free_cached_blocks(small_);
      segment = upstream_.allocate(Bytes{bytes});
    }
    if (!segment) return std::nullopt;
    blocks_[*segment] = {.size = bytes, .stream = stream, .small = size <= kSmallAlloc};
    reserved_ += bytes;
    return segment;
  }

  // Returns the blocks of `pool` that are whole segments.
  void free_cached_blocks(Pool& pool) {
    for (auto it = pool.begin(); it != pool.end();) {
      const Block& block = blocks_.at(it->address);
      if (block.previous != kNone || block.next != kNone) {
        ++it;
        continue;
      }
      upstream_.free(it->address);
      reserved_ -= block.size;
      blocks_.erase(it->address);
      it = pool.erase(it);
    }
  }

  // Cuts what `block` has beyond `size` off as a free block, if that is worth it.
  void split(VirtualAddress address, Block& block, std::int64_t size) {
    const std::int64_t remaining = block.size - size;
    if (remaining < (block.small ? kRoundSmall : kSmallAlloc + 1)) return;
    const VirtualAddress rest = address + static_cast<VirtualAddress>(size);
    if (block.next != kNone) blocks_.at(block.next).previous = rest;
    blocks_[rest] = {
        .size = remaining, .previous = address, .next = block.next, .stream = block.stream, .small = block.small};
    block.size = size;
    block.next = rest;
    insert_free(rest);
  }

  // Makes one block of two neighbours.
  void join(VirtualAddress low, VirtualAddress high) {
    Block& block = blocks_.at(low);
    const Block& swallowed = blocks_.at(high);
    block.size += swallowed.size;
    block.next = swallowed.next;
    if (block.next != kNone) blocks_.at(block.next).previous = low;
    blocks_.erase(high);
  }

  bool is_free(VirtualAddress address) const { return address != kNone && !blocks_.at(address).allocated; }
  FreeBlock key(VirtualAddress address) const {
    const Block& block = blocks_.at(address);
    return {block.stream, block.size, address};
  }
  Pool& pool_of(const Block& block) { return block.small ? small_ : large_; }
  void insert_free(VirtualAddress address) { pool_of(blocks_.at(address)).insert(key(address)); }

  UpstreamMemory& upstream_;
  Pool small_, large_;
  std::unordered_map<VirtualAddress, Block> blocks_;
  std::int64_t reserved_ = 0;
  std::int64_t active_ = 0;
  std::int64_t cache_flushes_ = 0;
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Allocator, Torch10>({.name = "torch_1_0",
                                     .summary = "PyTorch 1.0's caching allocator",
                                     .source = "PyTorch, aten/src/THC/THCCachingAllocator.cpp at 07262cd6 (2018)"});

}  // namespace
}  // namespace uvmsim
