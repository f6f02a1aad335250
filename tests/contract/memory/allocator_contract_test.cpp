// Every registered allocator keeps the contract of memory/allocator.h; a new file is enrolled by existing.
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "support/fake_upstream.h"

namespace uvmsim {
namespace {

// Sizes from one byte to tens of MiB, all magnitudes alike.
std::int64_t random_size(std::mt19937_64& random) {
  return static_cast<std::int64_t>(random() % (std::uint64_t{2} << (random() % 25))) + 1;
}

class AllocatorContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Allocator> make(UpstreamMemory& upstream) {
    return allocators().find(GetParam())->make(upstream);
  }

  // Runs `steps` random allocations and frees on two streams and calls `visit` after each, with the live blocks.
  template <class Visit>
  static void play(Allocator& allocator, int steps, Visit&& visit) {
    std::mt19937_64 random(20240607);
    std::map<VirtualAddress, std::int64_t> live;
    for (int i = 0; i < steps; ++i) {
      if (live.empty() || random() % 5 < 3) {
        const std::int64_t size = random_size(random);
        const auto address = allocator.allocate(Bytes{size}, static_cast<int>(random() % 2));
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
      ASSERT_EQ(address % 512, 0u);
      ASSERT_GE(address, outer) << "blocks overlap";
      ASSERT_TRUE(upstream.holds(address, size));
      outer = address + static_cast<VirtualAddress>(size);
    }
  });
}

TEST_P(AllocatorContract, ReservedBytesAreThoseOfTheSegments) {
  FakeUpstream upstream(std::int64_t{256} << 20);
  const auto allocator = make(upstream);
  play(*allocator, 2000, [&](const std::map<VirtualAddress, std::int64_t>& live) {
    ASSERT_EQ(allocator->reserved_bytes(), upstream.reserved());
    std::int64_t bytes = 0;
    for (const auto& [address, size] : live) bytes += size;
    ASSERT_LE(bytes, upstream.reserved());
  });
  EXPECT_EQ(allocator->reserved_bytes(), upstream.reserved()) << "after everything was freed";
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

// What was freed can be allocated again, however the pool was cut up before: no memory is lost.
TEST_P(AllocatorContract, FreedMemoryIsReusable) {
  constexpr std::int64_t kCapacity = std::int64_t{128} << 20;
  FakeUpstream upstream(kCapacity);
  const auto allocator = make(upstream);
  play(*allocator, 1000, [](const auto&) {});
  EXPECT_TRUE(allocator->allocate(Bytes{kCapacity}, 0));
}

TEST_P(AllocatorContract, ExhaustionIsAValueAndLeavesTheAllocatorUsable) {
  constexpr std::int64_t kCapacity = 8 << 20;
  FakeUpstream upstream(kCapacity);
  const auto allocator = make(upstream);
  EXPECT_FALSE(allocator->allocate(Bytes{kCapacity + 1}, 0));
  EXPECT_TRUE(allocator->allocate(Bytes{kCapacity}, 0));
}

INSTANTIATE_TEST_SUITE_P(All, AllocatorContract, testing::ValuesIn(allocators().names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace uvmsim
