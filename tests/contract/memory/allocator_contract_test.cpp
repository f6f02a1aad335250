// Every registered allocator keeps the contract of memory/allocator.h; a new file is enrolled by existing.
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "support/fake_upstream.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

// Sizes from one byte to tens of MiB, all magnitudes alike.
std::int64_t random_size(std::mt19937_64& random) {
  return static_cast<std::int64_t>(random() % (std::uint64_t{2} << (random() % 25))) + 1;
}

class AllocatorContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Allocator> make(UpstreamMemory& upstream) { return make_allocator(GetParam(), upstream); }

  // Runs `steps` random allocations and frees on `streams` streams and calls `visit` after each, with the live blocks.
  template <class Visit>
  static void play(Allocator& allocator, int steps, Visit&& visit, unsigned streams = 2) {
    std::mt19937_64 random(20240607);
    std::map<VirtualAddress, std::int64_t> live;
    for (int i = 0; i < steps; ++i) {
      if (live.empty() || random() % 5 < 3) {
        const std::int64_t size = random_size(random);
        const auto address = allocator.allocate({.size = Bytes{size},
                                                 .stream = static_cast<int>(random() % streams),
                                                 .kernels = static_cast<int>(random() % 40)});
        if (address) live[*address] = size;
      } else {
        auto victim = live.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random() % live.size()));
        allocator.free(victim->first);
        live.erase(victim);
      }
      visit(live);
    }
    while (!live.empty()) {
      allocator.free(live.begin()->first);
      live.erase(live.begin());
    }
  }
};

TEST_P(AllocatorContract, LiveBlocksAreAlignedDisjointAndInsideSegments) {
  FakeUpstream upstream;
  const auto allocator = make(upstream);
  play(*allocator, 2000, [&](const std::map<VirtualAddress, std::int64_t>& live) {
    VirtualAddress outer = 0;
    for (const auto& [address, size] : live) {
      ASSERT_EQ(address % 256, 0u);
      ASSERT_GE(address, outer) << "blocks overlap";
      ASSERT_TRUE(upstream.holds(address, size));
      outer = address + static_cast<VirtualAddress>(size);
    }
  });
}

// live <= active <= reserved <= capacity, and the largest free block is part of reserved - active.
TEST_P(AllocatorContract, BytesAddUpToThoseOfTheSegments) {
  constexpr std::int64_t kCapacity = std::int64_t{256} << 20;
  FakeUpstream upstream(kCapacity);
  const auto allocator = make(upstream);
  play(*allocator, 2000, [&](const std::map<VirtualAddress, std::int64_t>& live) {
    ASSERT_EQ(allocator->reserved().value, upstream.reserved());
    ASSERT_LE(upstream.reserved(), kCapacity);
    std::int64_t bytes = 0;
    for (const auto& [address, size] : live) bytes += size;
    ASSERT_LE(bytes, allocator->active().value);
    ASSERT_LE(allocator->active().value + allocator->largest_free().value, allocator->reserved().value);
  });
  EXPECT_EQ(allocator->reserved().value, upstream.reserved()) << "after everything was freed";
  EXPECT_EQ(allocator->active().value, 0);
}

TEST_P(AllocatorContract, SameCallsGiveTheSameAddresses) {
  const auto addresses = [] {
    FakeUpstream upstream(std::int64_t{256} << 20);
    const auto allocator = make(upstream);
    std::vector<VirtualAddress> seen;
    play(*allocator, 1000, [&](const std::map<VirtualAddress, std::int64_t>& live) {
      for (const auto& [address, size] : live) seen.push_back(address);
    });
    return seen;
  };
  EXPECT_EQ(addresses(), addresses());
}

// What was freed can be allocated again: the largest block there ever was has room when all are free. On one stream:
// a stream may keep what it took from another.
TEST_P(AllocatorContract, FreedMemoryIsReusable) {
  FakeUpstream upstream(std::int64_t{128} << 20);
  const auto allocator = make(upstream);
  std::int64_t largest = 0;
  play(
      *allocator, 1000,
      [&](const std::map<VirtualAddress, std::int64_t>& live) {
        for (const auto& [address, size] : live) largest = std::max(largest, size);
      },
      1);
  EXPECT_TRUE(allocator->allocate({Bytes{largest}}));
}

// More than there is fails and breaks nothing: half of it still fits, for every allocator that has half in one piece.
TEST_P(AllocatorContract, ExhaustionIsAValueAndLeavesTheAllocatorUsable) {
  constexpr std::int64_t kCapacity = 64 << 20;
  FakeUpstream upstream(kCapacity);
  const auto allocator = make(upstream);
  EXPECT_FALSE(allocator->allocate({Bytes{kCapacity + 1}}));
  EXPECT_TRUE(allocator->allocate({Bytes{kCapacity / 2}}));
}

// An allocator that returns memory to the driver under pressure does so before it gives up: what it still holds then
// is in use, or shares a segment with what is.
TEST_P(AllocatorContract, GivesUpOnlyAfterReturningItsCache) {
  FakeUpstream upstream(64 * kMiB);
  const auto allocator = make(upstream);
  std::vector<VirtualAddress> blocks;
  while (const auto address = allocator->allocate({Bytes{3 * kMiB}})) blocks.push_back(*address);
  for (const VirtualAddress address : blocks) allocator->free(address);
  EXPECT_FALSE(allocator->allocate({Bytes{65 * kMiB}}));
  if (upstream.frees() > 0) {
    EXPECT_EQ(allocator->reserved().value, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AllocatorContract, testing::ValuesIn(allocators().names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace uvmsim
