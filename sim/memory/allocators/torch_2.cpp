#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "memory/allocator.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kMinBlockSize = 512;         // every size is a multiple of this
constexpr std::int64_t kSmallSize = kMiB;           // up to here a request is small
constexpr std::int64_t kSmallBuffer = 2 * kMiB;     // segments of small requests, pages of growing ones
constexpr std::int64_t kMinLargeAlloc = 10 * kMiB;  // smaller large requests share
constexpr std::int64_t kLargeBuffer = 20 * kMiB;    // segments of this size; pages of growing ones
constexpr std::int64_t kRoundLarge = 2 * kMiB;      // other segments are multiples of this

struct Torch2Options {
  bool expandable_segments = false;
  std::int64_t max_split_size_mb = 0;
  double garbage_collection_threshold = 0;

  static const Description& description() {
    using O = Torch2Options;
    static const Description d =
        Describe<O>("torch_2: PYTORCH_CUDA_ALLOC_CONF")
            .flag("expandable_segments", &O::expandable_segments,
                  "one address range per stream and pool that grows by 2 or 20 MiB of mapped memory; cudaMalloc only")
            .integer("max_split_size_mb", &O::max_split_size_mb,
                     "larger blocks are never split, and serve only requests of about their size; 0: no limit", {0, {}},
                     "MiB")
            .number("garbage_collection_threshold", &O::garbage_collection_threshold,
                    "above this share of the GPU's memory old cached blocks are freed before a new cudaMalloc; the "
                    "limit PyTorch compares with is the whole memory; 0: never",
                    {0, 1})
            .build();
    return d;
  }
  std::vector<std::string> contradictions(const std::string& memory) const {
    std::vector<std::string> faults;
    if (expandable_segments && memory != "device")
      faults.emplace_back("expandable_segments maps memory of cudaMalloc's kind; set workload.memory to \"device\"");
    if (max_split_size_mb > 0 && max_split_size_mb <= kLargeBuffer / kMiB)
      faults.emplace_back("max_split_size_mb must be greater than 20");
    return faults;
  }
};

std::int64_t round_up(std::int64_t size, std::int64_t unit) { return (size + unit - 1) / unit * unit; }

// PyTorch 2's caching allocator: best fit in a pool of small and one of large blocks, each block bound to its stream;
// nothing returns to the driver until it has no memory left, or garbage collection is asked for. Requests of up to
// 1 MiB share 2 MiB segments, those of less than 10 MiB share 20 MiB segments.
class Torch2 final : public Allocator {
 public:
  using Options = Torch2Options;
  Torch2(UpstreamMemory& upstream, const Torch2Options& options) : upstream_(upstream), options_(options) {
    if (options_.max_split_size_mb > 0) max_split_size_ = options_.max_split_size_mb * kMiB;
  }

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = round_up(request.size.value, kMinBlockSize);
    Pool& pool = size <= kSmallSize ? small_ : large_;
    VirtualAddress address = take_cached(pool, size, request.stream);
    if (address == kNone) {
      collect_garbage();
      address = take_new(pool, size, request.stream);
    }
    if (address == kNone && release_oversize(size, request.stream)) address = take_new(pool, size, request.stream);
    if (address == kNone) {
      ++cache_flushes_;
      release_cached(large_);
      release_cached(small_);
      address = take_new(pool, size, request.stream);
    }
    if (address == kNone) return std::nullopt;
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
    insert_free(merge(address));
  }

  Bytes reserved() const override { return {reserved_}; }
  Bytes active() const override { return {active_}; }
  Bytes largest_free() const override {
    std::int64_t largest = 0;
    for (const Pool* pool : {&small_, &large_})
      for (const FreeBlock& block : pool->blocks) largest = std::max(largest, block.size);
    return {largest};
  }
  std::int64_t cache_flushes() const override { return cache_flushes_; }

 private:
  static constexpr VirtualAddress kNone = 0;

  // Order of a pool, hence of the search: the smallest block that fits, of these the lowest address.
  struct FreeBlock {
    int stream;
    std::int64_t size;
    VirtualAddress address;
    friend auto operator<=>(const FreeBlock&, const FreeBlock&) = default;
  };
  struct Pool {
    std::int64_t page = 0;  // of growing segments
    std::set<FreeBlock> blocks = {};
    std::set<std::pair<int, VirtualAddress>> unmapped = {};  // by stream: rests of growing segments
    std::int64_t searches = 0;
  };
  // A piece of a segment. `previous` and `next` are its neighbours in the segment.
  struct Block {
    std::int64_t size = 0;
    VirtualAddress previous = kNone, next = kNone;
    VirtualAddress grows_from = kNone;  // base of the growing segment it lies in
    Pool* pool = nullptr;
    int stream = 0;
    bool allocated = false;
    bool mapped = true;
    std::int64_t freed_at = 0;  // in searches of its pool

    bool alone() const { return previous == kNone && next == kNone; }
  };

  FreeBlock key(VirtualAddress address) const {
    const Block& block = blocks_.at(address);
    return {block.stream, block.size, address};
  }
  void insert_free(VirtualAddress address) {
    Block& block = blocks_.at(address);
    block.freed_at = block.pool->searches;
    block.pool->blocks.insert(key(address));
  }
  bool is_free(VirtualAddress address) const { return address != kNone && !blocks_.at(address).allocated; }

  // --- blocks at hand

  // What a free block of a growing segment could become.
  std::int64_t growable_size(const FreeBlock& free) const {
    const Block& block = blocks_.at(free.address);
    const bool grows = block.next != kNone && !blocks_.at(block.next).mapped;
    return free.size + (grows ? blocks_.at(block.next).size : 0);
  }

  VirtualAddress take_cached(Pool& pool, std::int64_t size, int stream) {
    ++pool.searches;
    auto fit = pool.blocks.lower_bound({stream, size, 0});
    if (fit == pool.blocks.end() || fit->stream != stream) return kNone;
    // The block before unmapped addresses is used last: it can grow.
    for (auto next = std::next(fit); options_.expandable_segments && next != pool.blocks.end() &&
                                     next->stream == stream && growable_size(*next) < growable_size(*fit);
         ++next)
      fit = next;
    if (size < max_split_size_ && fit->size >= max_split_size_) return kNone;
    if (size >= max_split_size_ && fit->size >= size + kLargeBuffer) return kNone;
    const VirtualAddress address = fit->address;
    pool.blocks.erase(fit);
    return address;
  }

  // Cuts what `block` has beyond `size` off as a free block, if that is worth it.
  void split(VirtualAddress address, Block& block, std::int64_t size) {
    const std::int64_t remaining = block.size - size;
    const bool worth = block.pool == &small_ || options_.expandable_segments
                           ? remaining >= kMinBlockSize
                           : size < max_split_size_ && remaining > kSmallSize;
    if (worth) insert_free(cut(address, size));
  }

  // Makes two blocks of one, the first of `size` bytes; returns the second.
  VirtualAddress cut(VirtualAddress address, std::int64_t size) {
    Block& block = blocks_.at(address);
    const VirtualAddress rest = address + static_cast<VirtualAddress>(size);
    if (block.next != kNone) blocks_.at(block.next).previous = rest;
    Block second = block;
    second.size -= size;
    second.previous = address;
    second.allocated = false;
    block.size = size;
    block.next = rest;
    blocks_[rest] = second;
    return rest;
  }

  // Joins a block that is in no list with its neighbours of the same kind that are free, taking them from their list.
  VirtualAddress merge(VirtualAddress address) {
    const auto joins = [&](VirtualAddress neighbour) {
      return is_free(neighbour) && blocks_.at(neighbour).mapped == blocks_.at(address).mapped;
    };
    if (const VirtualAddress previous = blocks_.at(address).previous; joins(previous)) {
      unlist(previous);
      join(previous, address);
      address = previous;
    }
    if (const VirtualAddress next = blocks_.at(address).next; joins(next)) {
      unlist(next);
      join(address, next);
    }
    return address;
  }
  void unlist(VirtualAddress address) {
    const Block& block = blocks_.at(address);
    if (block.mapped)
      block.pool->blocks.erase(key(address));
    else
      block.pool->unmapped.erase({block.stream, address});
  }
  void join(VirtualAddress low, VirtualAddress high) {
    Block& block = blocks_.at(low);
    const Block& swallowed = blocks_.at(high);
    block.size += swallowed.size;
    block.next = swallowed.next;
    if (block.next != kNone) blocks_.at(block.next).previous = low;
    blocks_.erase(high);
  }

  // --- new memory

  VirtualAddress take_new(Pool& pool, std::int64_t size, int stream) {
    if (options_.expandable_segments) return grow_segment(pool, size, stream);
    const std::int64_t bytes = size <= kSmallSize      ? kSmallBuffer
                               : size < kMinLargeAlloc ? kLargeBuffer
                                                       : round_up(size, kRoundLarge);
    const std::optional<VirtualAddress> segment = upstream_.allocate({bytes});
    if (!segment) return kNone;
    reserved_ += bytes;
    Block block;
    block.size = bytes;
    block.pool = &pool;
    block.stream = stream;
    blocks_[*segment] = block;
    return *segment;
  }

  // The lowest addresses with room for `size`: unmapped ones, with a free block before them where there is one, and
  // whatever is free after them. Maps as much as is missing.
  VirtualAddress grow_segment(Pool& pool, std::int64_t size, int stream) {
    VirtualAddress candidate = room_for(pool, size, stream);
    if (!blocks_.at(candidate).mapped) {
      candidate = map(candidate, std::min(blocks_.at(candidate).size, size));
      if (candidate == kNone) return kNone;
    }
    while (blocks_.at(candidate).size < size) {
      const Block& block = blocks_.at(candidate);
      candidate = map(block.next, std::min(size - block.size, blocks_.at(block.next).size));
      if (candidate == kNone) return kNone;
    }
    pool.blocks.erase(key(candidate));
    return candidate;
  }

  VirtualAddress room_for(Pool& pool, std::int64_t size, int stream) {
    for (auto it = pool.unmapped.lower_bound({stream, 0}); it != pool.unmapped.end() && it->first == stream; ++it) {
      const VirtualAddress previous = blocks_.at(it->second).previous;
      const VirtualAddress start = is_free(previous) ? previous : it->second;
      std::int64_t room = 0;
      for (VirtualAddress at = start; room < size && is_free(at); at = blocks_.at(at).next) room += blocks_.at(at).size;
      if (room >= size) return start;
    }
    // An eighth more than the GPU has, so that what cannot be reused does not end it.
    const std::int64_t memory = upstream_.gpu_memory().value > 0 ? upstream_.gpu_memory().value : std::int64_t{1} << 40;
    Block block;
    block.size = round_up(std::max(memory + memory / 8, size), pool.page);
    block.grows_from = upstream_.reserve({block.size});
    block.pool = &pool;
    block.stream = stream;
    block.mapped = false;
    blocks_[block.grows_from] = block;
    pool.unmapped.insert({stream, block.grows_from});
    return block.grows_from;
  }

  // Maps the pages of the first `size` bytes of an unmapped block and merges them with the free blocks around them.
  // Returns the free block they are in; kNone, and nothing mapped, when memory is exhausted.
  VirtualAddress map(VirtualAddress address, std::int64_t size) {
    Pool& pool = *blocks_.at(address).pool;
    const std::int64_t bytes = round_up(size, pool.page);
    for (std::int64_t done = 0; done < bytes; done += pool.page) {
      if (upstream_.map(address + static_cast<VirtualAddress>(done), {pool.page})) continue;
      while (done > 0) upstream_.free(address + static_cast<VirtualAddress>(done -= pool.page));
      return kNone;
    }
    reserved_ += bytes;
    unlist(address);
    if (bytes < blocks_.at(address).size) pool.unmapped.insert({blocks_.at(address).stream, cut(address, bytes)});
    blocks_.at(address).mapped = true;
    address = merge(address);
    insert_free(address);
    return address;
  }

  // --- giving memory back

  // Returns the free blocks of `pool` that are whole segments, and the whole pages of free blocks of growing ones.
  void release_cached(Pool& pool) {
    std::vector<VirtualAddress> growing;
    for (auto it = pool.blocks.begin(); it != pool.blocks.end();) {
      const VirtualAddress address = (it++)->address;
      if (blocks_.at(address).grows_from != kNone)
        growing.push_back(address);
      else if (blocks_.at(address).alone())
        release(address);
    }
    for (const VirtualAddress address : growing) unmap(address);
  }

  void release(VirtualAddress address) {
    unlist(address);
    upstream_.free(address);
    reserved_ -= blocks_.at(address).size;
    blocks_.erase(address);
  }

  void unmap(VirtualAddress address) {
    const Block block = blocks_.at(address);
    const std::int64_t page = block.pool->page, offset = static_cast<std::int64_t>(address - block.grows_from);
    const std::int64_t first = round_up(offset, page), outer = (offset + block.size) / page * page;
    if (first >= outer) return;
    unlist(address);
    VirtualAddress middle = address;
    if (first > offset) {
      middle = cut(address, first - offset);
      insert_free(address);
    }
    if (blocks_.at(middle).size > outer - first) insert_free(cut(middle, outer - first));
    for (std::int64_t at = first; at < outer; at += page)
      upstream_.free(block.grows_from + static_cast<VirtualAddress>(at));
    reserved_ -= outer - first;
    blocks_.at(middle).mapped = false;
    middle = merge(middle);
    if (blocks_.at(middle).alone())
      blocks_.erase(middle);
    else
      block.pool->unmapped.insert({block.stream, middle});
  }

  // With max_split_size_mb: returns one oversize block that would do, or several of the largest that together do.
  bool release_oversize(std::int64_t size, int stream) {
    if (max_split_size_ == kNoLimit || options_.expandable_segments) return false;
    const std::int64_t wanted = std::max(size, max_split_size_);
    auto it = large_.blocks.lower_bound({stream, wanted, 0});
    if (it != large_.blocks.end() && it->stream == stream) return release(it->address), true;
    std::int64_t released = 0;
    while (released < wanted && it != large_.blocks.begin()) {
      --it;
      if (it->stream != stream || it->size < max_split_size_) break;
      const FreeBlock block = *it++;
      if (!blocks_.at(block.address).alone()) break;
      released += block.size;
      release(block.address);
    }
    return released >= wanted;
  }

  // Frees cached segments that went unused for at least the average time, until the threshold is kept.
  void collect_garbage() {
    const double limit = options_.garbage_collection_threshold * static_cast<double>(upstream_.gpu_memory().value);
    const auto excess = [&] { return limit > 0 && static_cast<double>(reserved_) > limit; };
    while (excess()) {
      std::int64_t total_age = 0, count = 0;
      std::vector<VirtualAddress> whole;
      for (const FreeBlock& free : large_.blocks) {
        const Block& block = blocks_.at(free.address);
        if (!block.alone() || block.grows_from != kNone) continue;
        whole.push_back(free.address);
        total_age += large_.searches - block.freed_at;
        ++count;
      }
      if (count == 0) return;
      const double threshold = static_cast<double>(total_age) / static_cast<double>(count);
      for (const VirtualAddress address : whole)
        if (excess() && static_cast<double>(large_.searches - blocks_.at(address).freed_at) >= threshold)
          release(address);
    }
  }

  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  UpstreamMemory& upstream_;
  const Torch2Options options_;
  std::int64_t max_split_size_ = kNoLimit;
  Pool small_{.page = kSmallBuffer}, large_{.page = kLargeBuffer};
  std::unordered_map<VirtualAddress, Block> blocks_;
  std::int64_t reserved_ = 0, active_ = 0;
  std::int64_t cache_flushes_ = 0;
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Allocator, Torch2>({.name = "torch_2",
                                    .summary = "PyTorch 2's caching allocator",
                                    .source = "PyTorch, c10/cuda/CUDACachingAllocator.cpp at 001074d2 (2.x)"});

}  // namespace
}  // namespace uvmsim
