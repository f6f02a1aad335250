#include "trace/info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/trace_text.h"

namespace uvmsim::trace {
namespace {

// Live bytes:        set-up 1000 (tensor 1)
//   iteration 0      1000 -> 1500 (tensor 2, an activation) -> 1000
//   iteration 1      1000 -> 1500 (tensor 3), never freed
// The peak of 1500 is first reached with 1000 of kind 0 and 500 of kind 1.
const std::string kTrace = R"(["M",{"v":1,"name":"n","samples":32,"sample_unit":"images","kinds":["param","act","ws"]}]
["A",1,1000,0]
["S",0,"k"]
["I",0]
["A",2,500,1]
["K",0,0,70,[[1,1],[2,2,0,100,200]],{"fl":11}]
["K",0,1,30,[[2,1,0,400,-1,3]],{"fl":22}]
["F",2]
["I",1]
["A",3,500,1]
["K",0,0,50,[[1,3]]]
["Q",1]
)";

TEST(TraceInfo, CountsRecordsTensorsAndBytes) {
  const TraceInfo info = describe_trace(trace_of(kTrace));
  EXPECT_EQ(info.record_count(), 9);
  EXPECT_EQ(info.records[0], 3);  // A
  EXPECT_EQ(info.records[4], 3);  // K
  EXPECT_EQ(info.strings, 1);
  EXPECT_EQ(info.tensors, 3);
  EXPECT_EQ(info.peak_live_bytes, 1500);
  EXPECT_EQ(info.end_live_bytes, 1500);
  EXPECT_EQ(info.in_core_ns, 150);
  EXPECT_EQ(info.flops, 33);
  EXPECT_EQ(info.ignored_tags.at("Q"), 1);
}

// "unroll" is for loops over the grid, of which `rows` has none.
TEST(TraceInfo, NamesOptionsThatTheirPatternDoesNotTake) {
  const TraceInfo info = describe_trace(trace_of(R"(["M",{"v":1,"kinds":["param"]}]
["A",1,1000,0]
["S",0,"k"]
["K",0,0,70,[[1,1,6,{"tile":[2,100,400],"unroll":4}],[1,1,0,{"unroll":4}]]]
["K",0,0,70,[[1,1,6,{"tile":[2,100,400],"unroll":4,"dep":1}]]]
)"));
  EXPECT_EQ(info.unused_options, (std::map<std::string, std::int64_t>{{"rows.dep", 1}, {"rows.unroll", 2}}));
  EXPECT_THAT(to_text(info), testing::HasSubstr("\nunused options  rows.dep (1), rows.unroll (2)\n"));
}

TEST(TraceInfo, SplitsBytesByKind) {
  const TraceInfo info = describe_trace(trace_of(kTrace));
  ASSERT_EQ(info.kinds.size(), 3u);
  EXPECT_EQ(info.kinds[1].name, "act");
  EXPECT_EQ(info.kinds[1].tensors, 2);
  EXPECT_EQ(info.kinds[1].allocated_bytes, 1000);
  EXPECT_EQ(info.kinds[0].peak_bytes, 1000);
  EXPECT_EQ(info.kinds[1].peak_bytes, 500);
}

// Iteration 0 touches 1000 (all of 1) + 200, then three times the last 100 of tensor 2's 500 bytes.
TEST(TraceInfo, SplitsKernelsByIteration) {
  const TraceInfo info = describe_trace(trace_of(kTrace));
  ASSERT_EQ(info.iterations.size(), 3u);
  EXPECT_EQ(info.iterations[0].index, -1);
  EXPECT_EQ(info.iterations[0].kernels, 0);
  EXPECT_EQ(info.iterations[0].peak_live_bytes, 1000);
  EXPECT_EQ(info.iterations[1].kernels, 2);
  EXPECT_EQ(info.iterations[1].in_core_ns, 100);
  EXPECT_EQ(info.iterations[1].touched_bytes, 1000 + 200 + 3 * 100);
  EXPECT_EQ(info.iterations[2].touched_bytes, 1000);
  EXPECT_EQ(info.iterations[2].peak_live_bytes, 1500);
}

TEST(TraceInfo, ATraceThatStartsWithAnIterationHasNoSetUp) {
  EXPECT_EQ(describe_trace(trace_of(kTestHeader + "[\"I\",3]\n")).iterations.at(0).index, 3);
  EXPECT_TRUE(describe_trace(trace_of(kTestHeader)).iterations.empty());
}

TEST(TraceInfo, SumsStopAtTheLargestInteger) {
  // 2^44 bytes, 16 passes: 2^48 per access, 2^63 in 2^15 of them.
  std::string text = kTestHeader + "[\"S\",0,\"k\"]\n[\"A\",1,17592186044416]\n";
  for (int i = 0; i < 1 << 15; ++i)
    text += R"(["K",0,0,0,[[1,1,0,0,-1,16]]])"
            "\n";
  EXPECT_EQ(describe_trace(trace_of(text)).iterations[0].touched_bytes, 9223372036854775807);
}

TEST(TraceInfo, TextSaysHowFarToTrustOperandsAndWhatIsUnknown) {
  EXPECT_THAT(to_text(describe_trace(trace_of(R"(["M",{"v":1,"operands_status":"lower_bound","unknowns":["a","b"]}])"
                                              "\n"))),
              testing::HasSubstr("operands       lower bound: what kernels were seen to touch\n"
                                 "unknown        a\nunknown        b\n"));
}

TEST(TraceInfo, TextShowsTheNumbersWithUnits) {
  EXPECT_EQ(to_text(describe_trace(trace_of(kTrace))),
            R"(name           n
provenance     not stated
durations      not stated
confidence     not stated
samples        32 images per iteration and device
records        9: 3 allocations, 1 frees, 3 kernels, 2 iterations
accesses       4 seq
in core        150 ns of kernels, 33 FLOP
memory         1.50 kB alive at the peak, 1.50 kB never freed, 3 tensors
ignored tags   Q (1)

kind                 tensors     allocated   at the peak
param                      1       1.00 kB       1.00 kB
act                        2       1.00 kB         500 B

iteration            kernels       in core       touched         alive
set-up                     0          0 ns           0 B       1.00 kB
0                          2        100 ns       1.50 kB       1.50 kB
1                          1         50 ns       1.00 kB       1.50 kB
)");
}

TEST(TraceInfo, NamesTheShapesOfAccesses) {
  const TraceInfo info = describe_trace(trace_of(kTestHeader + R"(["S",0,"k"]
["A",1,1000]
["K",0,0,70,[[1,1],[1,1,3,{"s":40,"chunk":400}],[1,1,2,{"n":5,"dep":1}],[1,1,0,{"unroll":4}],[1,2,8,{"tile":[5,5,20],"blk":[32,8]}]]]
["K",0,0,70,[[1,1,0,0,100]]]
)"));
  EXPECT_EQ(info.accesses, (std::map<std::string, std::int64_t>{{"grid2d by CTAs of 32 x 8", 1},
                                                                {"rand after the others", 1},
                                                                {"seq", 2},
                                                                {"seq unrolled 4 times", 1},
                                                                {"strided in chunks", 1}}));
  EXPECT_THAT(to_text(info), testing::HasSubstr("accesses       1 grid2d by CTAs of 32 x 8, 1 rand after the others, "
                                                "2 seq, 1 seq unrolled 4 times, 1 strided in chunks\n"));
}

TEST(TraceInfo, JsonHasEveryNumber) {
  const auto json = nlohmann::json::parse(to_json(describe_trace(trace_of(kTrace))));
  EXPECT_EQ(json["records"]["K"], 3);
  EXPECT_EQ(json["peak_live_bytes"], 1500);
  EXPECT_EQ(json["kinds"][1]["allocated_bytes"], 1000);
  EXPECT_EQ(json["iterations"][1]["touched_bytes"], 1500);
  EXPECT_EQ(json["ignored_tags"]["Q"], 1);
}

}  // namespace
}  // namespace uvmsim::trace
