// Pools beside the framework's own: for memory that other processes map, and for the stages of a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/ipc.h"
#include "support/program_ops.h"
#include "support/sizes.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using test::ops_of;

// One tensor of 4 MiB for other processes ("input") and one of 8 MiB that is not.
trace::Trace one_for_others() {
  TraceBuilder t{{}};
  t.allocate(Bytes{4 * kMiB}, TensorKind::Input);
  t.allocate(Bytes{8 * kMiB}, TensorKind::Activation);
  return t.take();
}

TEST(Ipc, ManagedMemoryCannotBeShared) {
  PlacementOptions options{.allocator = "none", .ipc_kinds = "input"};
  EXPECT_EQ(ipc_refusal(one_for_others(), options).value_or(""),
            "tensor 1 (input) of 4 MiB is for other processes, and CUDA IPC cannot share managed memory: "
            "workload.ipc_allocator gives such tensors a pool of cudaMalloc memory");
  options.ipc_kinds = "ws,wgrad";
  EXPECT_EQ(ipc_refusal(one_for_others(), options), std::nullopt) << "nothing of these kinds is allocated";
  options = {.allocator = "none", .memory = "device", .ipc_kinds = "input"};
  EXPECT_EQ(ipc_refusal(one_for_others(), options), std::nullopt) << "cudaMalloc memory can";
}

TEST(Ipc, APoolOfItsOwnIsCudaMallocMemory) {
  const PlacementOptions options{.allocator = "none", .ipc_kinds = "act,input", .ipc_allocator = "none"};
  trace::Trace trace = one_for_others();
  EXPECT_EQ(ipc_refusal(trace, options), std::nullopt);
  const auto mallocs = ops_of<op::MallocDevice>(place(trace, options));
  ASSERT_EQ(mallocs.size(), 2u);
  EXPECT_EQ(mallocs[0].bytes, 4 * kMiB);
  EXPECT_EQ(mallocs[1].bytes, 8 * kMiB);
  EXPECT_TRUE(ops_of<op::MallocManaged>(place(trace, options)).empty());
}

// The framework's pool is managed, the other one is not: each has a segment.
TEST(Ipc, OtherTensorsStayWhereTheyWere) {
  const Program program =
      place(one_for_others(), {.allocator = "none", .ipc_kinds = "input", .ipc_allocator = "rmm_pool"});
  EXPECT_EQ(ops_of<op::MallocDevice>(program).at(0).bytes, 4 * kMiB);
  EXPECT_EQ(ops_of<op::MallocManaged>(program).at(0).bytes, 8 * kMiB);
}

// Phase "etl" with the managed pool, phase "prep" without a pool: the pool of 64 MiB goes back when "prep" begins and
// nothing of it is in use, and what comes then is cudaMalloc's.
TEST(Stages, ThePoolGoesBackBeforeTheNextAllocatorBegins) {
  TraceBuilder t{{}};
  t.phase("etl");
  const trace::TensorId a = t.allocate(Bytes{3 * kMiB}, TensorKind::Other);
  t.free(a);
  t.phase("prep");
  t.allocate(Bytes{5 * kMiB}, TensorKind::Other);
  PlacementOptions options{.allocator = "cnmem", .gpu_memory = Bytes{128 * kMiB}};
  options.stages = {{.phase = "prep", .allocator = "none", .memory = "device"}};
  const Program program = place(t.take(), options);
  EXPECT_EQ(ops_of<op::MallocManaged>(program).at(0).bytes, 64 * kMiB);
  EXPECT_EQ(ops_of<op::FreeManaged>(program).size(), 1u);
  EXPECT_EQ(ops_of<op::MallocDevice>(program).at(0).bytes, 5 * kMiB);
  EXPECT_EQ(program.allocator.reserved_bytes, 5 * kMiB);
  EXPECT_EQ(program.allocator.peak_reserved_bytes, 64 * kMiB);
}

// A tensor of "etl" that lives on keeps its pool until it is freed.
TEST(Stages, APoolStaysWhileSomethingOfItIsInUse) {
  TraceBuilder t{{}};
  t.phase("etl");
  const trace::TensorId a = t.allocate(Bytes{3 * kMiB}, TensorKind::Other);
  t.phase("prep");
  t.phase("prep");
  const trace::TensorId b = t.allocate(Bytes{5 * kMiB}, TensorKind::Other);
  PlacementOptions options{.allocator = "cnmem", .gpu_memory = Bytes{128 * kMiB}};
  options.stages = {{.phase = "prep", .allocator = "none", .memory = "device"}};
  TraceBuilder before = t;
  EXPECT_EQ(place(before.take(), options).allocator.reserved_bytes, 69 * kMiB);
  t.free(a);
  EXPECT_EQ(place(t.take(), options).allocator.reserved_bytes, 5 * kMiB);
  static_cast<void>(b);
}

}  // namespace
}  // namespace uvmsim
