// cudaMemPrefetchAsync (driver specification, section 6.4).
#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

struct Totals {
  int works = 0;
  int maps = 0;
  Bytes in{}, out{};
};

Totals run(Driver& d, VirtualAddress address, Bytes size, ProcessorId to) {
  Totals totals;
  const auto migration = d.driver.migrate(d.space, address, size, to);
  while (const BlockWork* work = migration->next()) {
    ++totals.works;
    totals.maps += static_cast<int>(work->map.size());
    totals.in += copied(work->copies, kCpu, kGpu);
    totals.out += copied(work->copies, kGpu, kCpu);
    for (const EvictionWork& eviction : work->evictions) totals.out += copied(eviction.copies, kGpu, kCpu);
    d.driver.audit();
  }
  return totals;
}

TEST(Migration, OneBlockTakesOnePassAndMaps) {
  Driver d(small_machine(8_MiB));
  d.cpu_touch(0, 512);
  const Totals totals = run(d, kManagedBase, 2_MiB, kGpu);
  EXPECT_EQ(totals.works, 1);
  EXPECT_EQ(totals.maps, 1);
  EXPECT_EQ(totals.in, 2_MiB);
}

TEST(Migration, SeveralBlocksTakeTwoPassesTheSecondMaps) {
  Driver d(small_machine(8_MiB), 6_MiB);
  d.cpu_touch(0, 3 * 512);
  const auto migration = d.driver.migrate(d.space, kManagedBase, 6_MiB, kGpu);
  EXPECT_EQ(migration->passes(), 2);
  for (int block = 0; block < 3; ++block) {
    const BlockWork* work = migration->next();
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(copied(work->copies, kCpu, kGpu), 2_MiB);
    EXPECT_TRUE(work->map.empty());
  }
  for (int block = 0; block < 3; ++block) {
    const BlockWork* work = migration->next();
    ASSERT_NE(work, nullptr);
    EXPECT_TRUE(work->copies.empty());
    EXPECT_EQ(work->map.size(), 1u);
  }
  EXPECT_EQ(migration->next(), nullptr);
}

// N = 5 blocks into C = 3 chunks: pass 1 brings 5 in and 2 out; pass 2 misses on each again: 5 in, 5 out.
// In all 2N in and 2N - C out.
TEST(Migration, ARangeThatDoesNotFitMovesTwice) {
  Driver d(small_machine(6_MiB), 10_MiB);
  d.cpu_touch(0, 5 * 512);
  const Totals totals = run(d, kManagedBase, 10_MiB, kGpu);
  EXPECT_EQ(totals.in, 20_MiB);
  EXPECT_EQ(totals.out, 14_MiB);
}

TEST(Migration, NeverTouchedPagesArePopulated) {
  Driver d(small_machine(8_MiB));
  const auto migration = d.driver.migrate(d.space, kManagedBase, 1_MiB, kGpu);
  const BlockWork* work = migration->next();
  EXPECT_EQ(work->populated, 1_MiB);
  EXPECT_TRUE(work->copies.empty());
  EXPECT_EQ(d.on_gpu(0), pages(0, 256)) << "no heuristic: only what was asked for";
}

// To the CPU: pass 1 moves, pass 2 waits and inserts 4 KiB entries.
TEST(Migration, ToTheCpuTheSecondPassWaitsAndMaps) {
  Machine machine = small_machine(8_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.cpu_map_page = nanoseconds(10);
  Driver d(machine, 4_MiB);
  run(d, kManagedBase, 4_MiB, kGpu);
  const auto migration = d.driver.migrate(d.space, kManagedBase, 4_MiB, kCpu);
  for (int block = 0; block < 2; ++block) {
    const BlockWork* work = migration->next();
    EXPECT_EQ(copied(work->copies, kGpu, kCpu), 2_MiB);
    EXPECT_FALSE(work->waits_for_copies);
    EXPECT_EQ(work->cpu, Duration{0});
  }
  const BlockWork* work = migration->next();
  EXPECT_TRUE(work->waits_for_copies);
  EXPECT_EQ(work->cpu, nanoseconds(5120));
  migration->next();
  EXPECT_EQ(migration->next(), nullptr);
  EXPECT_TRUE(d.driver.cpu_mapped(d.space, FrameIndex{1}).full());
}

// An unmapped hole between two allocations is walked over; a partial page counts whole.
TEST(Migration, HolesBetweenAllocationsAreSkipped) {
  Driver d(small_machine(16_MiB));
  d.driver.allocate_managed(d.space, block_address(3), {5000});
  const Totals totals = run(d, kManagedBase, 16_MiB, kGpu);
  EXPECT_EQ(totals.works, 4);
  EXPECT_EQ(d.on_gpu(3), pages(0, 2));
}

TEST(Migration, BetweenPeersCopiesGoDirectlyElseThroughTheHost) {
  Machine machine = small_machine(8_MiB, 3);
  add_nvlink(machine, 0, 1);
  Driver d(machine);
  run(d, kManagedBase, 2_MiB, kGpu);
  const auto to_peer = d.driver.migrate(d.space, kManagedBase, 2_MiB, ProcessorId::gpu(GpuIndex{1}));
  const BlockWork* direct = to_peer->next();
  ASSERT_EQ(direct->copies.size(), 1u);
  EXPECT_EQ(direct->copies[0].from, kGpu);
  EXPECT_EQ(direct->copies[0].to, ProcessorId::gpu(GpuIndex{1}));
  const auto to_stranger = d.driver.migrate(d.space, kManagedBase, 2_MiB, ProcessorId::gpu(GpuIndex{2}));
  const BlockWork* staged = to_stranger->next();
  ASSERT_EQ(staged->copies.size(), 2u);
  EXPECT_EQ(staged->copies[0].to, kCpu);
  EXPECT_EQ(staged->copies[1].from, kCpu);
  EXPECT_EQ(staged->copies[1].to, ProcessorId::gpu(GpuIndex{2}));
  EXPECT_TRUE(d.on_cpu(0).none());
  d.driver.audit();
}

}  // namespace
}  // namespace uvmsim
