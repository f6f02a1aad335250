// What makes each prefetch policy itself: the smallest sequence where it and the driver's differ.
#include <gtest/gtest.h>

#include "support/watched_program.h"

namespace uvmsim {
namespace {

using namespace test;

Machine machine_with(const std::string& policy, Bytes memory = 32_MiB) {
  Machine machine = small_machine(memory);
  machine.driver.prefetch_policy = policy;
  return machine;
}

// Pages on the GPU after faults on these pages of frame 0, one by one.
int pages_after(const std::string& policy, const std::vector<Page>& faults) {
  Driver d(machine_with(policy));
  for (const Page page : faults) d.read(page);
  return d.on_gpu(0).count();
}

// The driver brings 64 KiB at the first fault.
TEST(PrefetchPolicies, WholeBlockBringsAllAtOnce) {
  EXPECT_EQ(pages_after("density", {0}), 16);
  EXPECT_EQ(pages_after("whole_block", {0}), 512);
}

// 16, 16, then the driver's tree finds 48 of 64 pages wanted and brings all 64.
TEST(PrefetchPolicies, Sequential64KNeverGrows) {
  EXPECT_EQ(pages_after("density", {0, 16, 32}), 64);
  EXPECT_EQ(pages_after("sequential_64k", {0, 16, 32}), 48);
}

// One fault, one page more.
TEST(PrefetchPolicies, RandomBringsOnePageMore) {
  EXPECT_EQ(pages_after("none", {0}), 1);
  EXPECT_EQ(pages_after("random", {0}), 2);
}

// A fault on frame 0: the driver leaves frame 1 alone; next_chunk brings it whole, once nobody waits, and does not go
// on.
TEST(PrefetchPolicies, NextChunkBringsTheNextFrame) {
  Driver stock(machine_with("density"), 8_MiB);
  stock.read(0);
  EXPECT_EQ(stock.driver.prefetch_ahead(GpuIndex{0}), nullptr);

  Driver d(machine_with("next_chunk"), 8_MiB);
  d.cpu_touch(0, 2048);
  d.read(0);
  EXPECT_EQ(d.on_gpu(0).count(), 16) << "the tree inside the block as ever";
  AheadWork* work = d.driver.prefetch_ahead(GpuIndex{0});
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work->frame, FrameIndex{1});
  EXPECT_EQ(copied(work->work.copies, ProcessorId::cpu(), ProcessorId::gpu(GpuIndex{0})), 2_MiB);
  EXPECT_EQ(work->work.prefetched, 2_MiB);
  EXPECT_TRUE(d.on_gpu(1).full());
  d.driver.finish_ahead(GpuIndex{0}, *work);
  EXPECT_EQ(d.driver.prefetch_ahead(GpuIndex{0}), nullptr);
  d.driver.audit();
}

// While a frame is in flight nobody takes its memory: with room for two frames, 0 goes for 3, then 3 for 2.
TEST(PrefetchPolicies, FramesInFlightAreNotEvicted) {
  Driver d(machine_with("next_chunk", 4_MiB), 8_MiB);
  d.read(0);
  AheadWork* work = d.driver.prefetch_ahead(GpuIndex{0});
  ASSERT_NE(work, nullptr);
  d.read(page_in(3, 0));
  d.read(page_in(2, 0));
  EXPECT_EQ(on_gpu(d, 4), (Frames{1, 2}));
  d.driver.finish_ahead(GpuIndex{0}, *work);
  d.read(page_in(3, 0));
  d.read(page_in(0, 0));
  EXPECT_EQ(on_gpu(d, 4), (Frames{0, 3}));
  d.driver.audit();
}

// Kernel A faults on frames 0 and 3, B on 5, three times over; the kernel after the last three is known then. The next
// A brings 0, 3 and, for B, 5, without a fault.
TEST(PrefetchPolicies, CorrelationFollowsFaultsAndKernels) {
  Machine machine = machine_with("correlation");
  machine.driver.uvm_perf_thrashing_enable = false;  // this program is at work all at once
  Driver d(machine, 16_MiB);
  Program p = program_of({{0, 3}, {5}, {0, 3}, {5}, {0, 3}, {5}, {0, 3}});
  d.driver.attach(d.space, p, IndexedVector<DeviceOrdinal, GpuIndex>{GpuIndex{}});
  const auto leave = [&] { d.cpu_touch(0, 8 * kPagesPerBlock); };
  const auto fault = [&](Frame frame) {
    d.read(page_in(frame, 0));
    leave();
  };
  for (std::uint32_t op = 0; op < 6; ++op) {
    d.driver.begin_operation(GpuIndex{0}, d.space, op);
    if (op % 2 == 0) {
      fault(0);
      fault(3);
    } else {
      fault(5);
    }
    d.driver.end_operation(GpuIndex{0}, d.space);
  }
  d.driver.begin_operation(GpuIndex{0}, d.space, 6);
  Frames brought;
  while (AheadWork* work = d.driver.prefetch_ahead(GpuIndex{0})) {
    brought.push_back(work->frame.value);
    d.driver.finish_ahead(GpuIndex{0}, *work);
  }
  EXPECT_EQ(brought, (Frames{0, 3, 5}));
  d.driver.audit();
}

}  // namespace
}  // namespace uvmsim
