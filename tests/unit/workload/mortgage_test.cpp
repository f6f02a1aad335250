// RAPIDS' mortgage demo: what one worker allocates, and how much it holds.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "support/generate.h"

namespace uvmsim {
namespace {

struct Memory {
  std::int64_t peak = 0, left = 0;
  std::map<std::string, std::int64_t> peak_of_phase;
};

Memory memory_of(const trace::Trace& trace) {
  Memory m;
  std::map<trace::TensorId, std::int64_t> live;
  std::string phase;
  for (const trace::Record& record : trace.records) {
    if (const auto* p = std::get_if<trace::Phase>(&record)) phase = trace.strings[static_cast<std::size_t>(p->name)];
    if (const auto* a = std::get_if<trace::Alloc>(&record)) m.left += live[a->tensor] = a->bytes;
    if (const auto* f = std::get_if<trace::Free>(&record)) m.left -= live.extract(f->tensor).mapped();
    m.peak = std::max(m.peak, m.left);
    m.peak_of_phase[phase] = std::max(m.peak_of_phase[phase], m.left);
  }
  return m;
}

// 2766 allocations and frees; the talk's axes say 2675 per part (37 450 over 14 parts), 3.4 % fewer.
TEST(MortgageEtl, AllocatesAndFrees1383BuffersPerPart) {
  const trace::Trace trace = generate("mortgage_etl", R"({"part_bytes": "2 GB", "parts": 2})", 1);
  EXPECT_EQ(records_of<trace::Alloc>(trace).size(), 2 * 1383u);
  EXPECT_EQ(records_of<trace::Free>(trace).size(), 2 * 1383u);
  EXPECT_EQ(memory_of(trace).left, 0);
}

// At the end of the widest join, per row of the performance data:
//   the performance frame, which `del(gdf)` does not free: 224 B, month and year 3 B, masks of six dates 0.75 B
//   the frame joined with the features:                    271 B, masks of ten dates 1.25 B
//   the result, joined with the acquisitions:              427 B, masks of 64 columns 8 B
//   two 32-bit join indices:                                 8 B
// and per row of the acquisition data, 500 000 of them: 164 B and masks of two dates.
TEST(MortgageEtl, HoldsMostAtTheEndOfTheWidestJoin) {
  const Memory m = memory_of(generate("mortgage_etl", R"({"part_bytes": "6 GB"})", 1));
  const double rows = 6e9 / 105;
  EXPECT_NEAR(static_cast<double>(m.peak), rows * (227.75 + 272.25 + 435 + 8) + 500'000 * 164.25, 1e6);
  EXPECT_EQ(m.peak_of_phase.at("join acquisition"), m.peak);
}

// Grows with the file; what does not is the acquisition data.
TEST(MortgageEtl, PeaksAtNineTimesTheFile) {
  EXPECT_NEAR(static_cast<double>(memory_of(generate("mortgage_etl", R"({"part_bytes": "2 GB"})", 1)).peak), 18.0e9,
              0.05e9);
  EXPECT_NEAR(static_cast<double>(memory_of(generate("mortgage_etl", R"({"part_bytes": "9 GB"})", 1)).peak), 80.9e9,
              0.05e9);
}

// The twelve hash tables: 2 slots per row, 8 bytes per key and 8 for the value.
TEST(MortgageEtl, GroupsOverATableOfTwoSlotsPerRow) {
  const trace::Trace trace = generate("mortgage_etl", R"({"part_bytes": "1.05 GB"})", 1);
  int tables = 0;
  for (const trace::Alloc& a : records_of<trace::Alloc>(trace)) tables += a.bytes == 10'000'000LL * 2 * 24;
  EXPECT_EQ(tables, 12 * 2);  // two aggregations a month
}

// Label and 45 features leave for the host.
TEST(MortgageEtl, EndsWith46Columns) {
  const auto copies = records_of<trace::Copy>(generate("mortgage_etl", "{}", 1));
  EXPECT_EQ(std::ranges::count(copies, trace::CopyDirection::DeviceToHost, &trace::Copy::direction), 46);
  EXPECT_EQ(std::ranges::count(copies, trace::CopyDirection::HostToDevice, &trace::Copy::direction), 2);
}

// Three parts of 10 M rows: the parts and their concatenation, 46 columns of 4 bytes and a mask bit.
TEST(MortgagePrep, HoldsThePartsAndTheirConcatenation) {
  const trace::Trace trace = generate("mortgage_prep", R"({"part_bytes": "1.05 GB", "parts": 3})", 1);
  const Memory m = memory_of(trace);
  EXPECT_NEAR(static_cast<double>(m.peak), 2 * 30e6 * 46 * 4.125, 1e5);
  EXPECT_EQ(m.peak_of_phase.at("concat"), m.peak);
  EXPECT_EQ(m.left, 0);
  EXPECT_EQ(records_of<trace::Alloc>(trace).size(), 3u * 92 + 92 + 46);
}

// 45 features of 256 bins are 11 520 symbols: 14 bits each.
TEST(MortgageMl, PacksTheMatrixIntoBits) {
  const trace::Trace trace = generate("mortgage_ml", R"({"part_bytes": "1.05 GB", "parts": 1})", 1);
  EXPECT_EQ(records_of<trace::Alloc>(trace).front().bytes, 10'000'000LL * 45 * 14 / 8);
}

// Per level: build, evaluate, position, partition; below the root the other child's histogram. Beside the levels:
// gradients, rows, predictions. One all-reduce per level, of half of the nodes but at least one.
TEST(MortgageMl, GrowsATreeLevelByLevel) {
  const auto kernels = [](int iterations) {
    return records_of<trace::Kernel>(generate("mortgage_ml", R"({"part_bytes": "0.1 GB"})", iterations)).size();
  };
  EXPECT_EQ(kernels(2) - kernels(1), 3u + 8 * 4 + 7);
  const auto sums = records_of<trace::CollectiveOp>(generate("mortgage_ml", R"({"part_bytes": "0.1 GB"})", 1));
  ASSERT_EQ(sums.size(), 8u);
  EXPECT_EQ(sums.front().bytes, 45 * 256 * 16);
  EXPECT_EQ(sums.back().bytes, 64 * 45 * 256 * 16);
}

}  // namespace
}  // namespace uvmsim
