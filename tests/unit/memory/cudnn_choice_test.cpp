// Which way of a convolution runs, by the memory that is free when it first runs.
#include "memory/cudnn_choice.h"

#include <gtest/gtest.h>

#include "memory/allocator.h"
#include "support/sizes.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

// A tensor of `bytes`, and a convolution on it twice: 200 us without a workspace, 100 us with 8 MiB of it.
trace::Trace convolution(std::int64_t bytes) {
  TraceBuilder t{{}};
  const trace::TensorId x = t.allocate(Bytes{bytes}, TensorKind::Activation);
  for (int i = 0; i < 2; ++i) t.kernel("conv", {.duration_ns = 200'000, .variants = 0}, {updates(x)});
  trace::Trace trace = t.take();
  trace.variants = {{{.duration_ns = 100'000, .workspace = 8 * kMiB}}};
  return trace;
}

std::vector<op::Kernel> kernels_of(const Program& program) {
  std::vector<op::Kernel> found;
  for (const Op& operation : program.ops)
    if (const auto* kernel = std::get_if<op::Kernel>(&operation)) found.push_back(*kernel);
  return found;
}

// In 40 MiB: 32 are taken, so that 8 are free.
PlacementOptions device() {
  return {.allocator = "none",
          .memory = "device",
          .device_capacity = Bytes{40 * kMiB},
          .cudnn_benchmark = true,
          .populate_chunk = microseconds(30)};
}

TEST(CudnnChoice, TakesTheWorkspaceThatFits) {
  const Program program = place(convolution(32 * kMiB), device());
  const std::vector<op::Kernel> kernels = kernels_of(program);
  ASSERT_EQ(kernels.size(), 2u);
  for (const op::Kernel& kernel : kernels) {
    EXPECT_EQ(kernel.duration, microseconds(100));
    ASSERT_EQ(kernel.operands.count, 2u);
    EXPECT_EQ(program.operands[kernel.operands.first + 1].bytes, 8 * kMiB);
  }
  EXPECT_EQ(program.allocator.reserved_bytes, 32 * kMiB) << "it is freed behind each launch";
}

// 2 MiB more, and only 6 are free.
TEST(CudnnChoice, RunsAsRecordedWhereNoWorkspaceFits) {
  const std::vector<op::Kernel> kernels = kernels_of(place(convolution(34 * kMiB), device()));
  EXPECT_EQ(kernels.at(0).duration, microseconds(200));
  EXPECT_EQ(kernels.at(0).operands.count, 1u);
}

TEST(CudnnChoice, IsNotMadeUnlessAskedFor) {
  PlacementOptions options = device();
  options.cudnn_benchmark = false;
  EXPECT_EQ(kernels_of(place(convolution(kMiB), options)).at(0).duration, microseconds(200));
}

// 4 chunks of 2 MiB by faults: 100 + 4 x 30 = 220 us look slower than 200. With 24 us each they look faster: 196.
// Prefetched, nothing faults.
TEST(CudnnChoice, FaultsMakeWorkspacesLookSlow) {
  PlacementOptions options = device();
  options.memory = "managed";
  EXPECT_EQ(kernels_of(place(convolution(kMiB), options)).at(0).duration, microseconds(200));
  options.populate_chunk = microseconds(24);
  EXPECT_EQ(kernels_of(place(convolution(kMiB), options)).at(0).duration, microseconds(100));
  options.populate_chunk = microseconds(30);
  options.prefetch_on_alloc = true;
  EXPECT_EQ(kernels_of(place(convolution(kMiB), options)).at(0).duration, microseconds(100));
}

// Prefetched memory is populated: of 34 MiB in 40, 6 are left.
TEST(CudnnChoice, ManagedMemoryIsFreeWhereItIsNotPopulated) {
  PlacementOptions options = device();
  options.memory = "managed";
  options.prefetch_on_alloc = true;
  EXPECT_EQ(kernels_of(place(convolution(34 * kMiB), options)).at(0).duration, microseconds(200));
}

// It is chosen once: what was free then is gone when it runs again, and with managed memory the workspace comes all
// the same. With cudaMalloc there is none, and it runs as recorded from then on.
TEST(CudnnChoice, IsKeptUntilTheWorkspaceCannotBeAllocated) {
  const auto grown = [] {
    TraceBuilder t{{}};
    const trace::TensorId x = t.allocate(Bytes{kMiB}, TensorKind::Activation);
    const trace::Kernel conv{.duration_ns = 200'000, .variants = 0};
    t.kernel("conv", conv, {updates(x)});
    t.allocate(Bytes{36 * kMiB}, TensorKind::Activation);
    t.kernel("conv", conv, {updates(x)});
    trace::Trace trace = t.take();
    trace.variants = {{{.duration_ns = 100'000, .workspace = 8 * kMiB}}};
    return trace;
  };
  EXPECT_EQ(kernels_of(place(grown(), device())).at(1).duration, microseconds(200));
  PlacementOptions managed = device();
  managed.memory = "managed";
  managed.prefetch_on_alloc = true;
  EXPECT_EQ(kernels_of(place(grown(), managed)).at(1).duration, microseconds(100));
}

}  // namespace
}  // namespace uvmsim
