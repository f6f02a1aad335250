#include <gtest/gtest.h>

#include "memory/allocator.h"
#include "support/program_ops.h"
#include "support/sizes.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using test::ops_of;

PlacementOptions plain() { return {.allocator = "none"}; }

// A 5 MiB segment takes three 2 MiB blocks of address space, so the next one starts 6 MiB later.
TEST(Placement, ManagedSegmentsAscendFromTheBaseInWholeBlocks) {
  TraceBuilder t{{}};
  t.allocate(Bytes{5 * kMiB}, TensorKind::Other);
  t.allocate(Bytes{1}, TensorKind::Other);
  const auto mallocs = ops_of<op::MallocManaged>(place(t.take(), plain()));
  ASSERT_EQ(mallocs.size(), 2u);
  EXPECT_EQ(mallocs[0].address, kManagedBase);
  EXPECT_EQ(mallocs[0].bytes, 5 * kMiB);
  EXPECT_EQ(mallocs[1].address, kManagedBase + 6 * kMiB);
  EXPECT_EQ(mallocs[1].bytes, 2 * kMiB);
}

// The second one makes no VA range; the range goes with the last of both.
TEST(Placement, SmallManagedAllocationsShareAVaRange) {
  TraceBuilder t{{}};
  const trace::TensorId a = t.allocate(Bytes{100}, TensorKind::Other);
  const trace::TensorId b = t.allocate(Bytes{100}, TensorKind::Other);
  t.free(a);
  t.free(b);
  const Program program = place(t.take(), plain());
  const auto mallocs = ops_of<op::MallocManaged>(program);
  const auto frees = ops_of<op::FreeManaged>(program);
  ASSERT_EQ(mallocs.size(), 2u);
  EXPECT_EQ(mallocs[1].address, kManagedBase + 512);
  EXPECT_EQ(mallocs[1].bytes, 0);
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_FALSE(frees[0].last);
  EXPECT_TRUE(frees[1].last);
  EXPECT_EQ(frees[1].address, kManagedBase);
}

// The header's samples are those of one device: two devices work on 64 of them.
TEST(Placement, SamplesAreThoseOfTheDevicesThatTheProgramHas) {
  TraceBuilder t{{}};
  t.header().samples = 32;
  t.header().devices.resize(2);
  EXPECT_EQ(place(t.take(), plain()).samples, 64);
}

TEST(Placement, DeviceMemoryLiesBelowManagedMemory) {
  TraceBuilder t{{}};
  t.allocate(Bytes{kMiB}, TensorKind::Other, static_cast<int>(trace::Space::Device));
  t.allocate(Bytes{kMiB}, TensorKind::Other);
  const Program program = place(t.take(), plain());
  EXPECT_EQ(ops_of<op::MallocDevice>(program).at(0).address, static_cast<VirtualAddress>(2 * kMiB));
  EXPECT_EQ(ops_of<op::MallocManaged>(program).at(0).address, kManagedBase);
}

// A tensor of 100 bytes: [40, end) is 60 bytes, [90, 90 + 50) is clipped to 10.
TEST(Placement, AccessesBecomeAddressesClippedToTheTensor) {
  TraceBuilder t{{}};
  const trace::TensorId a = t.allocate(Bytes{100}, TensorKind::Other);
  t.kernel("k", {}, {at(reads(a), 40, -1), at(writes(a, trace::Pattern::Wide), 90, 50)});
  const Program program = place(t.take(), plain());
  const op::Kernel kernel = ops_of<op::Kernel>(program).at(0);
  ASSERT_EQ(kernel.operands.count, 2u);
  const Operand& read = program.operands[kernel.operands.first];
  const Operand& written = program.operands[kernel.operands.first + 1];
  EXPECT_EQ(read.address, kManagedBase + 40);
  EXPECT_EQ(read.bytes, 60);
  EXPECT_EQ(read.mode, trace::Mode::Read);
  EXPECT_EQ(written.address, kManagedBase + 90);
  EXPECT_EQ(written.bytes, 10);
  EXPECT_EQ(written.pattern, trace::Pattern::Wide);
}

TEST(Placement, HostTensorsAreNoOperands) {
  TraceBuilder t{{}};
  const trace::TensorId pinned = t.allocate(Bytes{64}, TensorKind::Input, static_cast<int>(trace::Space::PinnedHost));
  const trace::TensorId input = t.allocate(Bytes{64}, TensorKind::Input);
  t.copy({.bytes = 64}, {reads(pinned), writes(input)});
  const Program program = place(t.take(), plain());
  const op::Copy copy = ops_of<op::Copy>(program).at(0);
  ASSERT_EQ(copy.operands.count, 1u);
  EXPECT_EQ(program.operands[copy.operands.first].address, kManagedBase);
  EXPECT_EQ(program.allocator.peak_live_bytes, 64) << "host memory is not counted";
}

TEST(Placement, PrefetchOnAllocCoversTheWholeNewSegment) {
  TraceBuilder t{{}};
  t.allocate(Bytes{3 * kMiB}, TensorKind::Other);
  PlacementOptions options = plain();
  options.prefetch_on_alloc = true;
  const Program program = place(t.take(), options);
  ASSERT_EQ(program.ops.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<op::MallocManaged>(program.ops[0]));
  const auto prefetch = std::get<op::Prefetch>(program.ops[1]);
  EXPECT_EQ(prefetch.address, kManagedBase);
  EXPECT_EQ(prefetch.bytes, 3 * kMiB);
  EXPECT_EQ(prefetch.destination, DeviceOrdinal{0});
}

// The capture placed two tensors at 0 and 512 of one 1 MiB segment.
TEST(Placement, RecordedPlacementReplacesTheAllocator) {
  TraceBuilder t{{}};
  t.append(trace::SegmentAlloc{.segment = 7, .bytes = kMiB});
  t.append(trace::Alloc{.tensor = 1, .bytes = 100, .segment = 7, .offset = 0});
  t.append(trace::Alloc{.tensor = 2, .bytes = 100, .segment = 7, .offset = 512});
  t.kernel("k", {}, {reads(1), writes(2)});
  t.free(1);
  t.free(2);
  t.append(trace::SegmentFree{7});
  const Program program = place(t.take(), {.allocator = "torch_1_0"});
  EXPECT_EQ(program.operands.at(1).address, kManagedBase + 512);
  EXPECT_EQ(ops_of<op::MallocManaged>(program).size(), 1u);
  EXPECT_EQ(ops_of<op::FreeManaged>(program).size(), 1u);
  EXPECT_EQ(program.allocator.peak_live_bytes, 200);
  EXPECT_EQ(program.allocator.peak_reserved_bytes, kMiB);
  EXPECT_EQ(program.allocator.reserved_bytes, 0);
}

// Capacity 10 MiB: 6 MiB fit, 5 more do not. The program ends there and says what was asked.
TEST(Placement, RunningOutOfDeviceMemoryIsAnOutcome) {
  TraceBuilder t{{}};
  t.allocate(Bytes{6 * kMiB}, TensorKind::Other);
  t.allocate(Bytes{5 * kMiB}, TensorKind::Other);
  t.synchronize();
  const Program program =
      place(t.take(), {.allocator = "none", .memory = "device", .device_capacity = Bytes{10 * kMiB}});
  EXPECT_TRUE(program.out_of_memory);
  EXPECT_EQ(program.ops.size(), 1u);
  EXPECT_EQ(program.out_of_memory_detail,
            "no memory for tensor 2 (other) of 5 MiB: 6 MiB live, 6 MiB reserved, capacity 10 MiB");
}

// The message names the tensor's layer, and sizes from 1 GB on in GB: 3 GiB are 3.221 GB, 2 GiB 2.147 GB.
TEST(Placement, RunningOutOfDeviceMemoryNamesTheLayer) {
  TraceBuilder t{{}};
  t.allocate(Bytes{3072 * kMiB}, TensorKind::Activation);
  t.layer(t.string("encoder"));
  t.allocate(Bytes{2048 * kMiB}, TensorKind::Activation);
  const Program program =
      place(t.take(), {.allocator = "none", .memory = "device", .device_capacity = Bytes{4096 * kMiB}});
  EXPECT_EQ(program.out_of_memory_detail,
            "no memory for tensor 2 (act of encoder) of 2.147 GB: 3.221 GB live, 3.221 GB reserved, capacity 4.295 GB");
}

TEST(Placement, ManagedMemoryHasNoCapacity) {
  TraceBuilder t{{}};
  t.allocate(Bytes{6 * kMiB}, TensorKind::Other);
  EXPECT_FALSE(place(t.take(), {.allocator = "none", .device_capacity = Bytes{kMiB}}).out_of_memory);
}

// Live: 3 + 5 MiB at the peak. Reserved: the same, since every allocation is a segment.
TEST(Placement, PeaksAreKeptWhenMemoryIsFreed) {
  TraceBuilder t{{}};
  const trace::TensorId a = t.allocate(Bytes{3 * kMiB}, TensorKind::Other);
  t.allocate(Bytes{5 * kMiB}, TensorKind::Other);
  t.free(a);
  const AllocatorStats stats = place(t.take(), plain()).allocator;
  EXPECT_EQ(stats.peak_live_bytes, 8 * kMiB);
  EXPECT_EQ(stats.peak_reserved_bytes, 8 * kMiB);
  EXPECT_EQ(stats.reserved_bytes, 5 * kMiB);
  EXPECT_EQ(stats.segment_allocs, 2);
  EXPECT_EQ(stats.segment_frees, 1);
}

// The host is -1 in a trace and no device in a program; advice on device memory has no effect.
TEST(Placement, ManagedCallsNameProcessors) {
  TraceBuilder t{{}};
  const trace::TensorId a = t.allocate(Bytes{kMiB}, TensorKind::Other);
  const trace::TensorId d = t.allocate(Bytes{kMiB}, TensorKind::Other, static_cast<int>(trace::Space::Device));
  t.append(trace::Prefetch{.tensor = a, .offset = 4096, .destination = -1});
  t.append(trace::Advise{.tensor = a, .advice = 2, .device = 1});
  t.append(trace::Advise{.tensor = d, .advice = 2, .device = 0});
  const Program program = place(t.take(), plain());
  EXPECT_EQ(ops_of<op::Prefetch>(program).at(0).destination, std::nullopt);
  EXPECT_EQ(ops_of<op::Prefetch>(program).at(0).bytes, kMiB - 4096);
  ASSERT_EQ(ops_of<op::Advise>(program).size(), 1u);
  EXPECT_EQ(ops_of<op::Advise>(program).at(0).processor, DeviceOrdinal{1});
}

}  // namespace
}  // namespace uvmsim
