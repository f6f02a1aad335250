// What makes each eviction policy itself: the smallest sequence where it and the driver's differ.
#include <gtest/gtest.h>

#include "support/watched_program.h"
#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

using namespace test;

Machine machine_with(const std::string& policy, Bytes memory) {
  Machine machine = small_machine(memory);
  machine.driver.eviction_policy = policy;
  return machine;
}

// The same with a parameter of the policy.
template <class T>
Machine machine_with(const std::string& policy, Bytes memory, const std::string& parameter, T value) {
  Machine machine = machine_with(policy, memory);
  const std::shared_ptr<EvictionPolicy::Factory> factory = eviction_policies().find(policy)->make();
  uvmsim::parameter<T>(*factory, parameter) = value;
  machine.driver.eviction_options = factory;
  return machine;
}

// What is left of frames 0 .. 4 after these kernels.
Frames left(const Machine& machine, const std::vector<Frames>& kernels) {
  Driver d(machine, 10_MiB);
  const Program p = program_of(kernels);
  run_kernels(d, p);
  return on_gpu(d, 5);
}

// Room for two. 0 and 1 come, 0 is read again, 2 needs room. The driver saw no fault in the second read of 0.
TEST(EvictionPolicies, LruSeesAccessesThatHit) {
  const std::vector<Frames> kernels = {{0}, {1}, {0}, {2}};
  EXPECT_EQ(left(machine_with("driver", 4_MiB), kernels), (Frames{1, 2}));
  EXPECT_EQ(left(machine_with("lru", 4_MiB), kernels), (Frames{0, 2}));
}

// Room for two. The newest but the one being brought goes: 1.
TEST(EvictionPolicies, MruKeepsTheFrontOfAScan) {
  EXPECT_EQ(left(machine_with("driver", 4_MiB), {{0}, {1}, {2}}), (Frames{1, 2}));
  EXPECT_EQ(left(machine_with("mru", 4_MiB), {{0}, {1}, {2}}), (Frames{0, 2}));
}

// Room for two. Two kernels read 0 and one read 1, later: LRU and the driver would let 0 go.
TEST(EvictionPolicies, LfuCountsKernels) {
  const std::vector<Frames> kernels = {{0}, {0}, {1}, {2}};
  EXPECT_EQ(left(machine_with("driver", 4_MiB), kernels), (Frames{1, 2}));
  EXPECT_EQ(left(machine_with("lru", 4_MiB), kernels), (Frames{1, 2}));
  EXPECT_EQ(left(machine_with("lfu", 4_MiB), kernels), (Frames{0, 2}));
}

// Room for four, half of them spared: 4 takes the place of 2, the third oldest.
TEST(EvictionPolicies, ReservedSparesTheOldestShare) {
  const std::vector<Frames> kernels = {{0}, {1}, {2}, {3}, {4}};
  EXPECT_EQ(left(machine_with("driver", 8_MiB), kernels), (Frames{1, 2, 3, 4}));
  EXPECT_EQ(left(machine_with("reserved", 8_MiB, "share", 0.5), kernels), (Frames{0, 1, 3, 4}));
}

// The same numbers choose the same chunks, others choose others (with 2^-12 they would not: 13 choices of two).
TEST(EvictionPolicies, RandomDependsOnItsSeedOnly) {
  const auto faults = [](std::int64_t seed) {
    Driver d(machine_with("random", 6_MiB, "seed", seed), 10_MiB);
    const Program p = program_of(std::vector<Frames>(4, {0, 1, 2, 3, 4}));
    return run_kernels(d, p);
  };
  EXPECT_EQ(faults(1), faults(1));
  EXPECT_NE(faults(1), faults(2));
}

// Room for two: a weight, then an activation. The weight is older, but no activation.
TEST(EvictionPolicies, KindsLetsActivationsGoFirst) {
  const auto play = [](const Machine& machine) {
    Driver d(machine, 10_MiB);
    Program p = program_of({{0}, {1}, {2}});
    p.kinds = {"param", "act"};
    p.tensor_events = {{0, 0, block_address(0), kBlockBytes},
                       {0, 1, block_address(1), kBlockBytes},
                       {0, 1, block_address(2), kBlockBytes}};
    run_kernels(d, p);
    return on_gpu(d, 3);
  };
  EXPECT_EQ(play(machine_with("driver", 4_MiB)), (Frames{1, 2}));
  EXPECT_EQ(play(machine_with("kinds", 4_MiB)), (Frames{0, 2}));
  EXPECT_EQ(play(machine_with("kinds", 4_MiB, "kinds", std::string("opt, param"))), (Frames{1, 2}));
}

// Room for two; 4 of the 16 pages of frame 1 are discarded. That does not put it on the driver's list of discarded
// chunks.
TEST(EvictionPolicies, DiscardedFirstTakesPartsToo) {
  const auto play = [](const Machine& machine) {
    Driver d(machine, 6_MiB);
    d.write(page_in(0, 0));
    d.write(page_in(1, 0));
    d.driver.discard(d.space, block_address(1), Bytes{4 * kPageBytes});
    d.write(page_in(2, 0));
    return on_gpu(d, 3);
  };
  EXPECT_EQ(play(machine_with("driver", 4_MiB)), (Frames{1, 2}));
  EXPECT_EQ(play(machine_with("discarded_first", 4_MiB)), (Frames{0, 2}));
}

// Room for one frame, read whole. A tensor occupies its first MiB; the allocator holds the second. The driver copies
// 2 MiB out and 2 MiB back in, drop_inactive half of both.
TEST(EvictionPolicies, DropInactiveCopiesLiveTensorsOnly) {
  const auto play = [](const std::string& policy) {
    Machine machine = machine_with(policy, 2_MiB);
    machine.driver.prefetch_policy = "whole_block";
    Driver d(machine, 4_MiB);
    Program p = program_of({{0}, {1}, {0}});
    p.kinds = {"act"};
    p.tensor_events = {{0, 0, block_address(0), kBlockBytes},
                       {0, 0, block_address(1), kBlockBytes},
                       {1, TensorEvent::kFreed, block_address(0), kBlockBytes},
                       {1, 0, block_address(0), kBlockBytes / 2}};
    d.driver.attach(d.space, p, IndexedVector<DeviceOrdinal, GpuIndex>{GpuIndex{}});
    d.driver.begin_operation(GpuIndex{0}, d.space, 0);
    d.write(page_in(0, 0));
    d.driver.begin_operation(GpuIndex{0}, d.space, 1);
    const BlockWork& out = d.write(page_in(1, 0));
    const Bytes copied_out = copied(out.evictions.at(0).copies, ProcessorId::gpu(GpuIndex{0}), ProcessorId::cpu());
    const BlockWork& back = d.read(page_in(0, 0));
    d.driver.audit();
    return std::pair(copied_out, copied(back.copies, ProcessorId::cpu(), ProcessorId::gpu(GpuIndex{0})));
  };
  EXPECT_EQ(play("driver"), std::pair(2_MiB, 2_MiB));
  EXPECT_EQ(play("drop_inactive"), std::pair(1_MiB, 1_MiB));
}

// Room for two, three rounds over 0, 1, 2. The driver misses nine times. Belady: 0 1 2 miss, 2 in place of 1 (0 is
// next); 0 hits; 1 misses, in place of 0 (2 is next); 2 hits; 0 misses, in place of 2; 1 hits; 2 misses: six.
TEST(EvictionPolicies, ClairvoyantMissesLeast) {
  const std::vector<Frames> scan = {{0}, {1}, {2}, {0}, {1}, {2}, {0}, {1}, {2}};
  const auto misses = [&](const std::string& policy) {
    Driver d(machine_with(policy, 4_MiB), 6_MiB);
    const Program p = program_of(scan);
    return run_kernels(d, p);
  };
  EXPECT_EQ(misses("driver"), (Frames{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(misses("clairvoyant"), (Frames{0, 1, 2, 1, 0, 2}));
}

// One kernel reads 0 and 1; 2 needs room while it runs. 0 is used again sooner than 1, and 3 never: 3 goes, and next
// time the kernel's own frames stay although they are the furthest.
TEST(EvictionPolicies, ClairvoyantSparesWhatTheKernelUses) {
  Driver d(machine_with("clairvoyant", 4_MiB), 8_MiB);
  const Program p = program_of({{3}, {0}, {1}, {0}, {0, 1}});
  EXPECT_EQ(run_kernels(d, p), (Frames{3, 0, 1}));
}

// Room for four, a half to be kept free and evicted up to three quarters. Three are in use: one is free, two go.
TEST(EvictionPolicies, WatermarkEvictsBeforeAnybodyWaits) {
  Machine machine = machine_with("watermark", 8_MiB, "low", 0.5);
  parameter<double>(const_cast<PlugIn&>(*machine.driver.eviction_options), "high") = 0.75;
  Driver d(machine, 10_MiB);
  for (const std::uint32_t frame : {0u, 1u, 2u}) d.write(page_in(frame, 0));
  AheadWork* work = d.driver.evict_ahead(GpuIndex{0});
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work->frame, FrameIndex{0});
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 1) << "its pages are on their way";
  d.driver.audit();
  d.driver.finish_ahead(GpuIndex{0}, *work);
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 2);
  work = d.driver.evict_ahead(GpuIndex{0});
  ASSERT_NE(work, nullptr);
  d.driver.finish_ahead(GpuIndex{0}, *work);
  EXPECT_EQ(d.driver.evict_ahead(GpuIndex{0}), nullptr);
  EXPECT_EQ(on_gpu(d, 3), (Frames{2}));

  Driver stock(machine_with("driver", 8_MiB), 10_MiB);
  for (const std::uint32_t frame : {0u, 1u, 2u}) stock.write(page_in(frame, 0));
  EXPECT_EQ(stock.driver.evict_ahead(GpuIndex{0}), nullptr);
}

// Room for three: 1, 4, 0 came in this order. The prefetcher expects what follows 0 in memory, 1: the next oldest goes.
TEST(EvictionPolicies, ProtectWindowSparesWhatThePrefetcherExpects) {
  const auto play = [](const std::string& policy) {
    Machine machine = machine_with(policy, 6_MiB);
    machine.driver.prefetch_policy = "next_chunk";
    Driver d(machine, 14_MiB);
    for (const std::uint32_t frame : {1u, 4u, 0u, 6u}) d.write(page_in(frame, 0));
    return on_gpu(d, 7);
  };
  EXPECT_EQ(play("driver"), (Frames{0, 4, 6}));
  EXPECT_EQ(play("protect_window"), (Frames{0, 1, 6}));
}

// 2 MiB of memory hold 64 KiB of each of 32 frames, or one whole chunk.
TEST(EvictionPolicies, SmallGranularityHoldsMoreFrames) {
  for (const Bytes granularity : {64_KiB, 2_MiB}) {
    Machine machine = machine_with("driver", 2_MiB);
    machine.driver.eviction_granularity = granularity;
    Driver d(machine, 66_MiB);
    for (std::uint32_t frame = 0; frame < 33; ++frame) d.write(page_in(frame, 0));
    d.driver.audit();
    EXPECT_EQ(on_gpu(d, 33).size(), granularity == 64_KiB ? 32u : 1u);
    EXPECT_TRUE(d.on_gpu(32).any());
  }
}

// Room for three pieces of 64 KiB: of frame 0 the first and the third, one of frame 1. The oldest goes; then the first
// quarter of frame 0's 512 KiB is less than half full, so the third goes along.
TEST(EvictionPolicies, TreeTakesSparseSurroundingsAlong) {
  const auto evictions = [](const std::string& policy) {
    Machine machine = machine_with(policy, Bytes{3 * kBigPageBytes});
    machine.driver.eviction_granularity = 64_KiB;
    machine.driver.prefetch_policy = "sequential_64k";
    Driver d(machine, 4_MiB);
    d.write(page_in(0, 0));
    d.write(page_in(0, 32));
    d.write(page_in(1, 0));
    const std::size_t count = d.write(page_in(1, 16)).evictions.size();
    d.driver.audit();
    return count;
  };
  EXPECT_EQ(evictions("driver"), 1u);
  EXPECT_EQ(evictions("tree"), 2u);
}

}  // namespace
}  // namespace uvmsim
