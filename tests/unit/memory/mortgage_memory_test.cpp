// RAPIDS' mortgage demo on a V100-32GB with 33.3 GB to use, through the pool that RAPIDS had in 2019 and without one.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "memory/allocator.h"
#include "support/generate.h"

namespace uvmsim {
namespace {

struct Placed {
  bool out_of_memory = false;
  std::int64_t event = 0;  // the allocation that failed, counting allocations and frees from 1
  std::string phase = {};  // it was in
  double pool_gb = 0;      // held from the driver at the peak
};

Placed run_of(const trace::Trace& trace, const std::string& allocator, const std::string& memory) {
  std::vector<PoolSample> history;
  const Program program = place(trace,
                                {.allocator = allocator,
                                 .memory = memory,
                                 .device_capacity = Bytes{33'300'000'000},
                                 .gpu_memory = Bytes{std::int64_t{32} << 30}},
                                &history);
  Placed run{.out_of_memory = program.out_of_memory,
             .event = static_cast<std::int64_t>(history.size()) + 1,
             .pool_gb = static_cast<double>(program.allocator.peak_reserved_bytes) / 1e9};
  for (const Op& op : program.ops)
    if (const auto* phase = std::get_if<op::Phase>(&op))
      run.phase = program.strings[static_cast<std::size_t>(phase->name)];
  return run;
}

Placed etl(const std::string& part, const std::string& allocator, const std::string& memory) {
  return run_of(generate("mortgage_etl", R"({"part_bytes": ")" + part + "\"}", 1), allocator, memory);
}

Placed prep(int parts, const std::string& part) {
  return run_of(
      generate("mortgage_prep", R"({"part_bytes": ")" + part + R"(", "parts": )" + std::to_string(parts) + "}", 1),
      "none", "device");
}

// The talk's 112 parts have 2 to 3 GB: at nine times the file 18 to 27 GB.
TEST(MortgageEtlMemory, PartsOfTwoToThreeGigabytesFit) {
  for (const char* part : {"2 GB", "2.5 GB", "3 GB"})
    for (const char* allocator : {"cnmem", "none"}) EXPECT_FALSE(etl(part, allocator, "device").out_of_memory) << part;
}

// 54 GB at the peak. Without a pool memory ends where 33.1 GB are live, at the third join; the pool has 1 GB of holes
// by then.
TEST(MortgageEtlMemory, AnUnsplitFileOfSixGigabytesDoesNotFit) {
  const Placed plain = etl("6 GB", "none", "device"), pool = etl("6 GB", "cnmem", "device");
  EXPECT_TRUE(plain.out_of_memory && pool.out_of_memory);
  EXPECT_EQ(plain.event, 2217);
  EXPECT_EQ(plain.phase, "join acquisition");
  EXPECT_LE(pool.event, plain.event);
}

// The first hash table of the twelve months, 85.7 M rows x 2 slots x 24 B = 4.1 GB: 29.3 GB are held and 26.1 in use.
TEST(MortgageEtlMemory, AnUnsplitFileOfNineGigabytesFailsInTheTwelveMonths) {
  const Placed pool = etl("9 GB", "cnmem", "device");
  EXPECT_TRUE(pool.out_of_memory);
  EXPECT_EQ(pool.event, 575);
  EXPECT_EQ(pool.phase, "12 months");
  EXPECT_EQ(etl("9 GB", "none", "device").phase, "12 months");
}

// The pool grows by what is asked for: little more than the peak of 54.0 and 80.9 GB.
TEST(MortgageEtlMemory, ManagedPoolsTakeUnsplitFiles) {
  const Placed six = etl("6 GB", "cnmem", "managed"), nine = etl("9 GB", "cnmem", "managed");
  EXPECT_FALSE(six.out_of_memory || nine.out_of_memory);
  EXPECT_NEAR(six.pool_gb, 54.4, 0.3);
  EXPECT_NEAR(nine.pool_gb, 81.4, 0.8);
}

// 2 x parts x rows x 46 x 4.125 B: 20 quarters are three on the busiest GPU, 28 are four.
//   3 parts of 3 GB: 2 x 3 x 28.57 M x 189.75 B = 32.5 GB;  4 of 2.5 GB: 36.1 GB.
TEST(MortgagePrepMemory, TwentyQuartersFitAndTwentyEightFailInConcat) {
  for (const char* part : {"2 GB", "2.5 GB", "3 GB"}) EXPECT_FALSE(prep(3, part).out_of_memory) << part;
  for (const char* part : {"2.5 GB", "3 GB"}) {
    const Placed run = prep(4, part);
    EXPECT_TRUE(run.out_of_memory) << part;
    EXPECT_EQ(run.phase, "concat");
  }
  // 368 buffers of the parts; then (33.3 GB - 4 x rows x 189.75 B) / (4 x rows x 4.125 B) columns, two buffers each:
  // 38.8 of 2.5 GB parts, 24.6 of 3 GB parts. cudaMalloc's rounding may cost one of them.
  EXPECT_NEAR(static_cast<double>(prep(4, "2.5 GB").event), 368 + 2 * 38 + 1, 2);
  EXPECT_NEAR(static_cast<double>(prep(4, "3 GB").event), 368 + 2 * 24 + 1, 2);
}

}  // namespace
}  // namespace uvmsim
