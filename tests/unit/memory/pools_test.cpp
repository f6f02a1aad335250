// The rules that tell the pools apart, each on a few blocks.
#include <gtest/gtest.h>

#include "support/fake_upstream.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

VirtualAddress allocate(Allocator& allocator, std::int64_t bytes, int stream = 0) {
  return allocator.allocate({Bytes{bytes}, stream}).value();
}

// Half of 64 MiB is taken at once. 40 MiB then take exactly 40 MiB of managed memory more, prefetched.
TEST(Cnmem, StartsWithHalfTheGpuAndGrowsByTheRequest) {
  FakeUpstream upstream(std::int64_t{128} * kMiB);
  const auto pool = make_allocator("cnmem", upstream);
  EXPECT_EQ(upstream.reserved(), 64 * kMiB);
  allocate(*pool, 60 * kMiB);
  EXPECT_EQ(upstream.reserved(), 64 * kMiB);
  const VirtualAddress grown = allocate(*pool, 40 * kMiB);
  EXPECT_EQ(upstream.reserved(), 104 * kMiB);
  ASSERT_EQ(upstream.prefetched().size(), 2u);
  EXPECT_EQ(upstream.prefetched().back(), grown);
}

// Sizes are multiples of 512 B, and every rest is kept: 513 B of a fresh block leave the next one 1024 B on.
TEST(Cnmem, SplitsToTheGranule) {
  FakeUpstream upstream(2 * kMiB);
  const auto pool = make_allocator("cnmem", upstream);
  const VirtualAddress first = allocate(*pool, 513);
  EXPECT_EQ(allocate(*pool, 1), first + 1024);
  EXPECT_EQ(pool->active().value, 1024 + 512);
}

// Two neighbouring driver allocations of 2 MiB, both free: 4 MiB need a third.
TEST(Cnmem, NeverMergesAcrossDriverAllocations) {
  FakeUpstream upstream;  // of unknown size: no first pool
  const auto pool = make_allocator("cnmem", upstream);
  const VirtualAddress a = allocate(*pool, 2 * kMiB), b = allocate(*pool, 2 * kMiB);
  ASSERT_EQ(b, a + 2 * kMiB);
  pool->free(a);
  pool->free(b);
  EXPECT_EQ(pool->largest_free().value, 2 * kMiB);
  EXPECT_EQ(allocate(*pool, 4 * kMiB), b + 2 * kMiB);
}

// 4 MiB, 2 of them in the first pool, which stream 1 uses and frees. Stream 2 finds nothing at the root, grows by 2,
// and then steals stream 1's, after waiting for it.
TEST(Cnmem, StealsFromOtherStreamsWhenTheDriverIsOutOfMemory) {
  FakeUpstream upstream(4 * kMiB);
  const auto pool = make_allocator("cnmem", upstream);
  const VirtualAddress of_one = allocate(*pool, 2 * kMiB, 1);
  pool->free(of_one);
  allocate(*pool, 2 * kMiB, 2);
  EXPECT_EQ(upstream.reserved(), 4 * kMiB);
  EXPECT_TRUE(upstream.synchronized().empty());
  EXPECT_EQ(allocate(*pool, 2 * kMiB, 2), of_one);
  EXPECT_EQ(upstream.synchronized(), std::vector<int>{1});
}

// 512 MiB: 256 at once. 300 MiB do not fit in 256: as much as the pool holds is 256, less than 300, so 300 are asked
// for and refused. 200 + 100 MiB: the second doubles the pool to 512.
TEST(RmmPool, Doubles) {
  FakeUpstream upstream(512 * kMiB);
  const auto pool = make_allocator("rmm_pool", upstream);
  EXPECT_EQ(upstream.reserved(), 256 * kMiB);
  EXPECT_FALSE(pool->allocate({Bytes{300 * kMiB}}));
  allocate(*pool, 200 * kMiB);
  allocate(*pool, 100 * kMiB);
  EXPECT_EQ(upstream.reserved(), 512 * kMiB);
}

// 96 MiB, of which 16 are somebody else's: 48 at once. Doubling to 96 is refused, so is ... 48; half of that, 24, is
// granted for a request of 20.
TEST(RmmPool, HalvesWhatTheDriverRefuses) {
  FakeUpstream upstream(96 * kMiB);
  const auto pool = make_allocator("rmm_pool", upstream);
  ASSERT_TRUE(upstream.allocate(Bytes{16 * kMiB}));
  allocate(*pool, 48 * kMiB);
  allocate(*pool, 20 * kMiB);
  EXPECT_EQ(pool->reserved().value, (48 + 24) * kMiB);
}

// 256 B: 257 B take 512. Stream 1 has nothing of its own and takes what stream 0 left, without waiting.
TEST(RmmPool, StreamsTakeFromEachOther) {
  FakeUpstream upstream(2 * kMiB);
  const auto pool = make_allocator("rmm_pool", upstream);
  const VirtualAddress a = allocate(*pool, 257);
  EXPECT_EQ(allocate(*pool, 1), a + 512);
  pool->free(a);
  EXPECT_EQ(allocate(*pool, 512, 1), a);
  EXPECT_EQ(upstream.allocations(), 1);
}

// 128 MiB: an arena of 64, and never more. 1 KiB takes a 1 MiB superblock, the first; 2 MiB come from the arena
// itself; when the 1 KiB is freed its superblock is part of the arena again.
TEST(RmmArena, NeverGrows) {
  FakeUpstream upstream(128 * kMiB);
  const auto arena = make_allocator("rmm_arena", upstream);
  const VirtualAddress small = allocate(*arena, kKiB, 3);
  EXPECT_EQ(allocate(*arena, 2 * kMiB, 3), small + kMiB);
  EXPECT_EQ(upstream.reserved(), 64 * kMiB);
  EXPECT_FALSE(arena->allocate({Bytes{62 * kMiB}}));
  arena->free(small);
  EXPECT_EQ(allocate(*arena, kMiB + 1), small + 3 * kMiB) << "one MiB before the large block is too small";
  EXPECT_EQ(allocate(*arena, kKiB, 4), small);
}

// 8 MiB. An allocation that lives on lies at the high end, one that is gone after 3 kernels at the low end; the
// middle stays in one piece.
TEST(TwoEnded, KeepsShortAndLongLivedApart) {
  FakeUpstream upstream(8 * kMiB);
  const auto pool = make_allocator("two_ended", upstream);
  const VirtualAddress high = pool->allocate({.size = Bytes{kMiB}}).value();
  const VirtualAddress low = pool->allocate({.size = Bytes{kMiB}, .kernels = 3}).value();
  EXPECT_EQ(high, low + 7 * kMiB);
  EXPECT_EQ(pool->allocate({.size = Bytes{kMiB}, .kernels = 100}).value(), high - kMiB);
  EXPECT_EQ(pool->largest_free().value, 5 * kMiB);
}

// 3 KiB take an object of 4 KiB. Freed, it serves 2.5 KiB again but not 2 KiB, which has a class of its own.
TEST(SizeClass, ObjectsServeTheirClass) {
  FakeUpstream upstream;
  const auto pool = make_allocator("size_class", upstream);
  const VirtualAddress object = allocate(*pool, 3 * kKiB);
  EXPECT_EQ(pool->active().value, 4 * kKiB);
  pool->free(object);
  EXPECT_NE(allocate(*pool, 2 * kKiB), object);
  EXPECT_EQ(allocate(*pool, 2 * kKiB + 512), object);
}

// 8 KiB for the driver: one object of 8 KiB, free. 1 KiB gets it when the driver has nothing left.
TEST(SizeClass, LargerObjectsServeWhenTheDriverHasNothing) {
  FakeUpstream upstream(8 * kKiB);
  const auto pool = make_allocator("size_class", upstream);
  const VirtualAddress object = allocate(*pool, 8 * kKiB);
  pool->free(object);
  EXPECT_EQ(allocate(*pool, kKiB), object);
}

}  // namespace
}  // namespace uvmsim
