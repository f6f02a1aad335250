// How often the driver services a VA block while a kernel brings in an FP32 tensor of 4096 rows of 33278 logits from
// the host, by the shape of the access. The density prefetcher (threshold 51) sees which leaves fault together.
#include <functional>
#include <gtest/gtest.h>

#include "memory/allocator.h"
#include "support/simulated.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using trace::Mode;
using trace::Pattern;

constexpr std::int64_t kRows = 4096, kColumns = 33278, kInner = 256, kPitch = kColumns * 4;

// The kernel's operands, given the cold tensor. Matrices beside it are in device memory: they never fault.
using Shape = std::function<std::vector<trace::Access>(TraceBuilder&, trace::TensorId)>;

double services_per_block(const Shape& shape) {
  ChildProcess child([&] {
    const Experiment e = experiment_of(micro("v100_sxm2_32gb", R"("generator": "first_touch")"));
    TraceBuilder t{{}};
    const trace::TensorId logits = t.allocate(Bytes{kRows * kPitch}, TensorKind::Activation);
    t.host_step({writes(logits)});
    t.iteration(0);
    trace::Kernel kernel;
    kernel.duration_ns = 1'000'000;
    t.kernel("kernel", kernel, shape(t, logits));
    t.synchronize();
    PlacementOptions placement;
    placement.allocator = "none";
    const Program program = place(t.take(), placement);
    const std::vector<Process> processes = {{&program, {GpuIndex{0}}}};
    RunOptions options;
    options.warmup = 0;
    return to_json(run(e.machine, processes, options));
  });
  const auto result = result_from_json(child.wait());
  if (!result) return 0;
  const double blocks = static_cast<double>(kRows * kPitch) / (2 << 20);
  return static_cast<double>(result->gpus.at(0).counts.blocks_serviced) / blocks;
}

trace::Access matrix(TraceBuilder& t, trace::TensorId tensor, Mode mode, std::int64_t rows, std::int64_t columns,
                     bool transposed = false) {
  trace::PatternOptions p{.rows = rows, .columns = columns, .leading_dimension = columns * 4};
  if (transposed) p.leading_dimension = 4, p.stride = rows * 4;
  return {.tensor = tensor, .mode = mode, .pattern = Pattern::Tile, .options = t.options(p)};
}
trace::Access resident(TraceBuilder& t, Mode mode, std::int64_t rows, std::int64_t columns, bool transposed = false) {
  const trace::TensorId tensor =
      t.allocate(Bytes{rows * columns * 4}, TensorKind::Other, static_cast<int>(trace::Space::Device));
  return matrix(t, tensor, mode, rows, columns, transposed);
}

// These pin what our model of the hardware does; nothing was measured. The comments have the counts of an independent,
// coarser prototype: faults by leaves of 64 KiB, warps of a row all on one page, a tensor of 62,000 rows.

TEST(AccessShapes, Pointwise) {  // 6.0
  EXPECT_NEAR(services_per_block([](TraceBuilder&, trace::TensorId a) { return std::vector{updates(a)}; }), 3.00, 0.05);
}

TEST(AccessShapes, WideFill) {  // 4.0
  EXPECT_NEAR(
      services_per_block([](TraceBuilder&, trace::TensorId a) { return std::vector{writes(a, Pattern::Wide)}; }), 2.00,
      0.05);
}

TEST(AccessShapes, RowsOfASoftmax) {  // 3.0
  EXPECT_NEAR(services_per_block([](TraceBuilder& t, trace::TensorId a) {
                const std::int32_t row = t.options({.leading_dimension = kPitch});
                return std::vector{updates(a, Pattern::Rows, row)};
              }),
              2.35, 0.05);
}

// logits = x W^T
TEST(AccessShapes, TilesThatAProductStores) {  // 2.3
  EXPECT_NEAR(services_per_block([](TraceBuilder& t, trace::TensorId a) {
                return std::vector{resident(t, Mode::Read, kRows, kInner),
                                   resident(t, Mode::Read, kInner, kColumns, true),
                                   matrix(t, a, Mode::Write, kRows, kColumns)};
              }),
              1.76, 0.05);
}

// dx = dlogits W
TEST(AccessShapes, TilesWithAContiguousInnerDimension) {  // 2.3
  EXPECT_NEAR(services_per_block([](TraceBuilder& t, trace::TensorId a) {
                return std::vector{matrix(t, a, Mode::Read, kRows, kColumns), resident(t, Mode::Read, kColumns, kInner),
                                   resident(t, Mode::Write, kRows, kInner)};
              }),
              6.94, 0.05);
}

// dW = dlogits^T x
TEST(AccessShapes, TilesWithRowsAsInnerDimension) {  // 3.1
  EXPECT_NEAR(services_per_block([](TraceBuilder& t, trace::TensorId a) {
                return std::vector{matrix(t, a, Mode::Read, kColumns, kRows, true),
                                   resident(t, Mode::Read, kRows, kInner), resident(t, Mode::Write, kColumns, kInner)};
              }),
              4.52, 0.05);
}

TEST(AccessShapes, ColumnSums) {  // 3.1
  EXPECT_NEAR(services_per_block([](TraceBuilder& t, trace::TensorId a) {
                const std::int32_t stripes =
                    t.options({.rows = kRows, .columns = kColumns, .leading_dimension = kPitch, .width = 32 * 4});
                return std::vector{reads(a, Pattern::Tile, stripes)};
              }),
              3.59, 0.05);
}

TEST(AccessShapes, OneElementPerRow) {  // 1.5
  EXPECT_NEAR(services_per_block([](TraceBuilder& t, trace::TensorId a) {
                const std::int32_t sectors = t.options({.width = 32, .stride = kPitch, .count = kRows});
                return std::vector{reads(a, Pattern::Strided, sectors)};
              }),
              1.46, 0.05);
}

}  // namespace
}  // namespace uvmsim
