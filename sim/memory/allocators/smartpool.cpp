#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "memory/allocator.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kGranularity = 512;

struct SmartPoolOptions {
  std::int64_t shortest = 32;

  static const Description& description() {
    static const Description d =
        Describe<SmartPoolOptions>("smartpool")
            .integer("shortest", &SmartPoolOptions::shortest,
                     "allocations and frees of an iteration, at least (assumed)", {2, 1'000'000})
            .build();
    return d;
  }
};

// The events of a program: an allocation is its bytes, a free is how many events ago its block was allocated, negative.
// Finds when the last of them repeat those before them.
class EventLog {
 public:
  explicit EventLog(std::size_t shortest) : shortest_(shortest) {}

  std::size_t size() const { return events_.size(); }
  std::int64_t event(std::size_t n) const { return events_[n]; }
  void add(std::int64_t event) {
    events_.push_back(event);
    hashes_.push_back(hashes_.back() * kBase + static_cast<std::uint64_t>(event));
    powers_.push_back(powers_.back() * kBase);
    live_ += event > 0 ? event : -events_[events_.size() - 1 + static_cast<std::size_t>(event)];
    lives_.push_back(live_);
    most_ = std::max(most_, live_);
  }

  // The length of an iteration that has just been done a second time, counted from where the least is in use; 0: none.
  std::size_t period() {
    if (length_ == 0) {
      length_ = repeated();
      if (length_ > 0) least_ = *std::min_element(lives_.end() - static_cast<std::ptrdiff_t>(length_), lives_.end());
    }
    if (length_ > 0 && !repeats(length_)) length_ = 0;
    return length_ > 0 && live_ == least_ ? length_ : 0;
  }

 private:
  static constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15;  // odd; modulo 2^64
  std::uint64_t hash(std::size_t from, std::size_t outer) const {
    return hashes_[outer] - hashes_[from] * powers_[outer - from];
  }
  bool repeats(std::size_t length) const {
    const std::size_t begin = size() - length;
    return hash(begin - length, begin) == hash(begin, size());
  }

  // The distance of the last events from the same ones before, if what is between them repeats. An iteration leaves as
  // much in use as it found, and comes to the most that ever was: else it is a part of one, layers that are alike or
  // steps of an optimizer.
  std::size_t repeated() {
    if (size() < shortest_) return 0;
    const auto [seen, is_new] = seen_.try_emplace(hash(size() - shortest_, size()), size());
    if (is_new) return 0;
    const std::size_t length = size() - std::exchange(seen->second, size());
    if (length < shortest_ || size() < 2 * length || !repeats(length)) return 0;
    const auto begin = lives_.end() - static_cast<std::ptrdiff_t>(length);
    return *(begin - 1) == live_ && *std::max_element(begin, lives_.end()) == most_ ? length : 0;
  }

  const std::size_t shortest_;
  std::vector<std::int64_t> events_, lives_;               // bytes in use after each
  std::vector<std::uint64_t> hashes_{0}, powers_{1};       // of the events before each
  std::unordered_map<std::uint64_t, std::size_t> seen_{};  // where the last `shortest_` events ended before
  std::int64_t live_ = 0, most_ = 0, least_ = 0;
  std::size_t length_ = 0;  // of the iteration that the last events repeat; 0: none
};

// Where the blocks of an iteration lie in the pool: the largest first, each at the lowest address that is free all its
// life. A block may live on into the next iteration.
struct Packing {
  struct Block {
    std::size_t from = 0, outer = 0;  // events; outer <= from: into the next iteration
    std::int64_t bytes = 0, offset = 0;
  };
  std::vector<Block> blocks{};                    // by offset
  std::map<std::size_t, std::int64_t> offsets{};  // by the event that allocates
  std::int64_t bytes = 0;

  static bool meet(const Block& a, const Block& b) {
    const auto inside = [](std::size_t event, const Block& x) {
      return x.from < x.outer ? event >= x.from && event < x.outer : event >= x.from || event < x.outer;
    };
    return inside(a.from, b) || inside(b.from, a);
  }
  void add(Block block) {
    for (const Block& other : blocks) {
      if (!meet(block, other)) continue;
      if (other.offset >= block.offset + block.bytes) break;
      block.offset = std::max(block.offset, other.offset + other.bytes);
    }
    offsets[block.from] = block.offset;
    bytes = std::max(bytes, block.offset + block.bytes);
    blocks.insert(std::ranges::upper_bound(blocks, block.offset, {}, &Block::offset), block);
  }
};

// Learns what an iteration allocates and frees, from two that are alike, and packs its blocks offline into one pool;
// from then on an allocation is a look-up by its place in the iteration. Until then, for blocks that outlive their
// successors, and when a program leaves its iteration, it asks the driver; the pool goes when its last block is free.
class SmartPool final : public Allocator {
 public:
  using Options = SmartPoolOptions;
  SmartPool(UpstreamMemory& upstream, const SmartPoolOptions& options)
      : upstream_(upstream),
        driver_(make_allocator("none", upstream)),
        log_(static_cast<std::size_t>(options.shortest)) {}

  std::optional<VirtualAddress> allocate(const AllocationRequest& request) override {
    const std::int64_t size = (request.size.value + kGranularity - 1) / kGranularity * kGranularity;
    std::optional<VirtualAddress> address;
    if (follows(size) && packing_.offsets.contains(at_ - 1)) {
      address = pool_ + static_cast<VirtualAddress>(packing_.offsets.at(at_ - 1));
      pooled_[*address] = size;
    } else {
      address = driver_->allocate({.size = Bytes{size}, .stream = request.stream, .kernels = request.kernels});
      if (!address) return std::nullopt;
    }
    made_[*address] = {log_.size(), size};
    active_ += size;
    note(size);
    return address;
  }

  void free(VirtualAddress address) override {
    const auto found = made_.find(address);
    UVMSIM_CHECK(found != made_.end(), "only what was allocated is freed");
    const auto ago = static_cast<std::int64_t>(log_.size() - found->second.event);
    active_ -= found->second.bytes;
    made_.erase(found);
    follows(-ago);
    if (pooled_.erase(address) == 0) driver_->free(address);
    if (!following_ && pool_bytes_ > 0 && pooled_.empty()) retire();
    note(-ago);
  }

  Bytes reserved() const override { return {driver_->reserved().value + pool_bytes_}; }
  Bytes active() const override { return {active_}; }
  Bytes largest_free() const override {
    std::int64_t largest = 0;
    VirtualAddress end = pool_;
    for (const auto& [address, bytes] : pooled_) {
      largest = std::max(largest, static_cast<std::int64_t>(address - end));
      end = address + static_cast<VirtualAddress>(bytes);
    }
    largest = std::max(largest, static_cast<std::int64_t>(pool_ + static_cast<VirtualAddress>(pool_bytes_) - end));
    return {std::max(largest, driver_->largest_free().value)};
  }

 private:
  struct Made {
    std::size_t event = 0;
    std::int64_t bytes = 0;
  };

  // Whether the next event is the iteration's next one, which is passed.
  bool follows(std::int64_t event) {
    if (!following_) return false;
    if (at_ == iteration_.size()) at_ = 0;
    following_ = iteration_[at_] == event;
    ++at_;
    return following_;
  }

  void note(std::int64_t event) {
    log_.add(event);
    if (following_ || pool_bytes_ > 0) return;
    if (const std::size_t length = log_.period(); length > 0) build(length);
  }

  void build(std::size_t length) {
    iteration_.clear();
    packing_ = {};
    const std::size_t begin = log_.size() - length;
    for (std::size_t n = begin; n < log_.size(); ++n) iteration_.push_back(log_.event(n));
    std::vector<Packing::Block> blocks;  // a free ends the life of a block of this iteration or the one before
    for (std::size_t n = 0; n < length; ++n) {
      const auto ago = static_cast<std::size_t>(std::max<std::int64_t>(0, -iteration_[n]));
      if (ago == 0 || ago >= length) continue;  // no free, or of a block that outlives its own successor
      const std::size_t from = (n + length - ago) % length;
      blocks.push_back({.from = from, .outer = n, .bytes = iteration_[from]});
    }
    std::ranges::stable_sort(
        blocks, [](const auto& a, const auto& b) { return std::pair(a.bytes, b.from) > std::pair(b.bytes, a.from); });
    for (const Packing::Block& block : blocks) packing_.add(block);
    const std::optional<VirtualAddress> segment = upstream_.allocate({packing_.bytes});
    if (!segment) return;
    pool_ = *segment;
    pool_bytes_ = packing_.bytes;
    following_ = true;
    at_ = 0;
  }

  void retire() {
    upstream_.free(pool_);
    pool_ = 0;
    pool_bytes_ = 0;
  }

  UpstreamMemory& upstream_;
  std::unique_ptr<Allocator> driver_;
  EventLog log_;
  std::unordered_map<VirtualAddress, Made> made_;  // looked up, never walked
  std::map<VirtualAddress, std::int64_t> pooled_;  // bytes of blocks in use, in the pool
  std::vector<std::int64_t> iteration_;            // its events
  Packing packing_;
  VirtualAddress pool_ = 0;
  std::int64_t pool_bytes_ = 0, active_ = 0;
  bool following_ = false;
  std::size_t at_ = 0;  // event of the iteration that comes next
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Allocator, SmartPool>(
    {.name = "smartpool",
     .summary = "records the allocations of an iteration and packs them offline into one pool",
     .source =
         "Zhang et al., 2019: Efficient Memory Management for GPU-based Deep Learning Systems (arXiv 1903.06631), "
         "SmartPool; apache/singa"});

}  // namespace
}  // namespace uvmsim
