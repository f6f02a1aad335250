// The generated programs of published measurements have the launches and operands of their sources.
#include <gtest/gtest.h>

#include "support/generate.h"

namespace uvmsim {
namespace {

using trace::Mode;
using trace::Pattern;

trace::Access operand(const trace::Trace& t, const trace::Kernel& kernel, std::size_t i) {
  return t.accesses.at(kernel.accesses.first + i);
}

// PolyBench 2DCONV: A is read with a halo, B is written; the host writes only A. It reads B at 0, 40000, ... below
// 4 MiB: 105 places.
TEST(Conv2d, HostWritesTheImageAndReadsPlacesOfTheResult) {
  const trace::Trace t = generate("conv2d", R"({"read_stride": "40000 B"})", 1);
  const trace::Kernel kernel = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(operand(t, kernel, 0).pattern, Pattern::Stencil);
  EXPECT_EQ(operand(t, kernel, 1).mode, Mode::Write);
  const auto steps = records_of<trace::HostStep>(t);
  ASSERT_EQ(steps.size(), 1u + 105u);
  EXPECT_EQ(t.accesses.at(steps[0].accesses.first).tensor, operand(t, kernel, 0).tensor);
  EXPECT_EQ(t.accesses.at(steps[105].accesses.first).offset, 104 * 40000);
  EXPECT_EQ(t.accesses.at(steps[105].accesses.first).length, 4);
}

// Rodinia hotspot: each kernel reads what the one before it wrote; four kernels end in the array they began with.
TEST(Hotspot, KernelsSwapTheTemperatures) {
  const trace::Trace t = generate("hotspot", R"({"read_back": true})", 1);
  const auto kernels = records_of<trace::Kernel>(t);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(operand(t, kernels[1], 0).tensor, operand(t, kernels[0], 2).tensor);
  EXPECT_EQ(operand(t, kernels[1], 1).tensor, operand(t, kernels[0], 1).tensor);
  EXPECT_EQ(t.accesses.at(records_of<trace::HostStep>(t).back().accesses.first).tensor,
            operand(t, kernels[0], 0).tensor);
}

// 1024 elements in tiles of 12: 86 x 86 CTAs of 16 x 16 threads.
TEST(Hotspot, CtasOverlapByTheirBorders) {
  const trace::Trace t = generate("hotspot", "{}", 1);
  const trace::Kernel kernel = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(kernel.grid, 86 * 86);
  EXPECT_EQ(kernel.block, 256);
  EXPECT_EQ(t.options.at(0).count, 2);
}

// One step of time in a kernel: tiles of 14, of which 74 cover 1024.
TEST(Hotspot, BordersAreAsWideAsTheStepsOfAKernel) {
  const trace::Trace t = generate("hotspot", R"({"pyramid_height": 1})", 1);
  EXPECT_EQ(records_of<trace::Kernel>(t).at(0).grid, 74 * 74);
  EXPECT_EQ(t.options.at(0).count, 1);
}

// 1024 x 1024 elements by CTAs of 32 x 8: 32 x 128 of them.
TEST(Conv2d, CtasAre32By8) {
  const trace::Trace t = generate("conv2d", "{}", 1);
  EXPECT_EQ(records_of<trace::Kernel>(t).at(0).grid, 32 * 128);
  EXPECT_EQ(t.options.at(0).block_x, 32);
  EXPECT_EQ(t.options.at(0).block_y, 8);
}

// 1200 rows of 4800 bytes, one thread each, in CTAs of 256 threads: 5 CTAs. 1200 rounds of 280 ns are 336 us.
TEST(Atax, FirstKernelHasOneThreadPerRow) {
  const trace::Trace t = generate("atax", "{}", 1);
  const trace::Kernel first = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(first.grid, 5);
  EXPECT_EQ(first.duration_ns, 336'000);
  const trace::Access rows = operand(t, first, 1);
  EXPECT_EQ(rows.pattern, Pattern::Sequential);
  EXPECT_EQ(t.options.at(static_cast<std::size_t>(rows.options)).chunk, 4800);
}

// 2^20 threads of which every 100th acts: 10486 places, the same ones in table and output, as the input names them.
TEST(RandomAccess, TableAndOutputAreTouchedAtTheSamePlaces) {
  const trace::Trace t = generate("random_access", "{}", 1);
  const trace::Kernel kernel = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(kernel.grid, 4096);
  EXPECT_EQ(operand(t, kernel, 1).options, operand(t, kernel, 2).options);
  const trace::PatternOptions& table = t.options.at(static_cast<std::size_t>(operand(t, kernel, 1).options));
  EXPECT_EQ(table.count, 10486);
  EXPECT_TRUE(table.dependent);
}

// One kernel sets the distances, then two per round. Round r (from 0) follows 2^r vertices, at most all.
TEST(Sssp, FrontierGrowsByTheDegree) {
  const trace::Trace t = generate("sssp", R"({"vertices": 16, "rounds": 6})", 1);
  const auto kernels = records_of<trace::Kernel>(t);
  ASSERT_EQ(kernels.size(), 1u + 2u * 6u);
  const auto found = [&](std::size_t round) {
    const trace::Access begins = operand(t, kernels.at(1 + 2 * round), 0);
    return t.options.at(static_cast<std::size_t>(begins.options)).count;
  };
  EXPECT_EQ(found(0), 1);
  EXPECT_EQ(found(3), 8);
  EXPECT_EQ(found(5), 16);
}

TEST(VectorAdd, HostMayLeaveTheResultUntouched) {
  const trace::Trace t = generate("vector_add", R"({"init_result": false})", 1);
  EXPECT_EQ(records_of<trace::HostStep>(t).size(), 2u);
}

// Three arrays of 4 MiB, one float of each per thread: 2^20 threads in CTAs of 256.
TEST(FirstTouch, OneKernelWritesSeveralArrays) {
  const trace::Trace t = generate("first_touch", R"({"size": "4 MiB", "arrays": 3})", 1);
  const trace::Kernel kernel = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(kernel.accesses.count, 3u);
  EXPECT_EQ(kernel.grid, 4096);
}

}  // namespace
}  // namespace uvmsim
