#include "workload/cuda_malloc.h"

#include <gtest/gtest.h>

#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

// The host fills a, a kernel adds it to b, and the host reads both.
trace::Trace add_on_the_gpu(int space) {
  TraceBuilder trace{{}};
  const trace::TensorId a = trace.allocate(Bytes{1000}, TensorKind::Other, space);
  const trace::TensorId b = trace.allocate(Bytes{2000}, TensorKind::Other, space);
  trace.host_step({writes(a)});
  trace.kernel("add", {.duration_ns = 10}, {reads(a), updates(b)});
  trace.synchronize();
  trace.host_step({reads(a), at(reads(b), 500, 100)});
  trace.host_step({reads(b)});
  trace.host_step({reads(b)});
  return trace.take();
}

std::vector<trace::Copy> copies_of(const trace::Trace& trace) {
  std::vector<trace::Copy> copies;
  for (const trace::Record& record : trace.records)
    if (const auto* copy = std::get_if<trace::Copy>(&record)) copies.push_back(*copy);
  return copies;
}

// a goes to the GPU before the kernel, and need not come back: the GPU did not change it. Of b, the part that is read
// comes back, then all of it, and the host has it when it reads it again.
TEST(CudaMalloc, CopiesWhatTheHostTouches) {
  const trace::Trace trace = with_cuda_malloc(add_on_the_gpu(-1));
  const std::vector<trace::Copy> copies = copies_of(trace);
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].direction, trace::CopyDirection::HostToDevice);
  EXPECT_EQ(copies[0].bytes, 1000);
  EXPECT_EQ(copies[1].direction, trace::CopyDirection::DeviceToHost);
  EXPECT_EQ(copies[1].bytes, 100);
  EXPECT_EQ(trace.accesses[copies[1].accesses.first].offset, 500);
  EXPECT_EQ(copies[2].bytes, 2000);
  for (const trace::Copy& copy : copies) EXPECT_FALSE(copy.pinned || copy.asynchronous);
}

// Between the host's step and the kernel's iteration: who uses the data pays for the copy, as under managed memory.
TEST(CudaMalloc, CopiesToTheGpuRightBeforeTheFirstUse) {
  TraceBuilder trace{{}};
  const trace::TensorId a = trace.allocate(Bytes{1000}, TensorKind::Other);
  const trace::TensorId b = trace.allocate(Bytes{1000}, TensorKind::Other);
  trace.host_step({writes(a), writes(b)});
  trace.iteration(0);
  trace.kernel("copy", {.duration_ns = 10}, {reads(a), writes(b)});
  trace.kernel("copy", {.duration_ns = 10}, {reads(a), writes(b)});
  const trace::Trace with = with_cuda_malloc(trace.take());
  ASSERT_EQ(copies_of(with).size(), 1u);  // b is overwritten as a whole
  EXPECT_TRUE(std::holds_alternative<trace::Iteration>(with.records[3]));
  EXPECT_TRUE(std::holds_alternative<trace::Copy>(with.records[4]));
}

TEST(CudaMalloc, TakesThePlaceOfManagedMemory) {
  const trace::Trace trace = with_cuda_malloc(add_on_the_gpu(static_cast<int>(trace::Space::Managed)));
  for (const trace::Record& record : trace.records)
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
      EXPECT_EQ(alloc->space, static_cast<std::int8_t>(trace::Space::Device));
    }
}

// Pinned memory is the host's own: it needs no copies.
TEST(CudaMalloc, LeavesTheHostsOwnMemory) {
  EXPECT_TRUE(copies_of(with_cuda_malloc(add_on_the_gpu(static_cast<int>(trace::Space::PinnedHost)))).empty());
}

}  // namespace
}  // namespace uvmsim
