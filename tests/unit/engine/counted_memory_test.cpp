// Bytes of a GPU that are counted, against the same as one plain list of what was released.
#include "engine/counted_memory.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <random>
#include <utility>

namespace uvmsim {
namespace {

// Takes from the oldest release on: first what the own stream's work frees, then what is free, then what any stream's
// does.
class PlainMemory {
 public:
  explicit PlainMemory(std::int64_t free) : free_(free) {}

  void release(std::int64_t bytes, std::vector<StreamPoint> after, Sync sync) {
    lots_.push_back({bytes, std::move(after), sync});
  }
  bool take(std::int64_t bytes, const EventState* own, std::vector<StreamPoint>& waits) {
    std::int64_t available = free_;
    for (Lot& lot : lots_)
      if (all_of(lot, nullptr))
        available += lot.bytes, free_ += std::exchange(lot.bytes, 0);
      else if (lot.sync == Sync::Stream)
        available += lot.bytes;
    if (available < bytes) return false;
    const auto take_lots = [&](auto may) {
      for (Lot& lot : lots_) {
        if (bytes == 0 || lot.bytes == 0 || lot.sync != Sync::Stream || !may(lot)) continue;
        const std::int64_t part = std::min(bytes, lot.bytes);
        bytes -= part, lot.bytes -= part;
        for (const StreamPoint& point : lot.after)
          if (!point.reached()) waits.push_back(point);
      }
    };
    take_lots([&](const Lot& lot) { return all_of(lot, own); });
    const std::int64_t part = std::min(bytes, free_);
    bytes -= part, free_ -= part;
    take_lots([](const Lot&) { return true; });
    return true;
  }

 private:
  struct Lot {
    std::int64_t bytes;
    std::vector<StreamPoint> after;
    Sync sync;
  };
  static bool all_of(const Lot& lot, const EventState* own) {
    return std::ranges::all_of(lot.after,
                               [&](const StreamPoint& p) { return p.reached() || (own != nullptr && p.event == own); });
  }

  std::int64_t free_;
  std::vector<Lot> lots_;
};

bool same(const StreamPoint& a, const StreamPoint& b) { return a.event == b.event && a.target == b.target; }

// 3 streams whose work frees and takes up to 9 bytes of 40 at a time, in whatever order they are reached; a quarter of
// the releases waits for two streams, an eighth for a host.
TEST(CountedMemory, TakesWhatThePlainListTakes) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return random() % n; };
    std::array<EventState, 3> events{EventState("a"), EventState("b"), EventState("c")};
    CountedMemory memory(Bytes{40});
    PlainMemory plain(40);
    std::vector<DeviceBlock> taken;
    for (int step = 0; step < 300; ++step) {
      EventState& event = events[below(3)];
      if (below(3) == 0) {
        event.completed = std::min<std::int64_t>(event.completed + below(4), event.recorded);
      } else if (!taken.empty() && below(2) == 0) {
        const DeviceBlock block = taken.back();
        taken.pop_back();
        std::vector<StreamPoint> after = {{&event, ++event.recorded}};
        if (below(4) == 0) after.push_back({&events[0], events[0].recorded});
        const Sync sync = below(8) == 0 ? Sync::Host : Sync::Stream;
        memory.release(block, after, sync);
        plain.release(block.bytes, after, sync);
      } else {
        std::vector<StreamPoint> waits, plain_waits;
        const EventState* own = below(4) == 0 ? nullptr : &event;
        const std::int64_t bytes = 1 + below(9);
        const std::optional<DeviceBlock> block = memory.take({.bytes = bytes, .own = own}, waits);
        ASSERT_EQ(block.has_value(), plain.take(bytes, own, plain_waits)) << "seed " << seed << ", step " << step;
        ASSERT_TRUE(std::ranges::equal(waits, plain_waits, same)) << "seed " << seed << ", step " << step;
        if (block) taken.push_back(*block);
      }
    }
  }
}

}  // namespace
}  // namespace uvmsim
