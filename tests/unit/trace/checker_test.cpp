#include "trace/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace uvmsim::trace {
namespace {

// Line 1: two devices and two kinds. Line 2: tensor 1 of 100 bytes. Line 3: tensor 2, freed in line 4.
const std::string kSetUp = R"(["M",{"v":1,"dev":[{},{}],"kinds":["param","act"]}]
["A",1,100,0]
["A",2,100,1]
["F",2]
)";

// The errors of `lines` after the set-up: the first of them is line 5.
std::string check(const std::string& lines) { return errors_of(kSetUp + lines + "\n"); }

TEST(TraceChecker, AcceptsTheSetUp) { EXPECT_EQ(check(""), ""); }

TEST(TraceChecker, TensorsAreUsedWhileTheyLive) {
  EXPECT_EQ(check(R"(["H",0,0,[[7,1]]])"), "t:5: tensor 7 is used but was never allocated");
  EXPECT_EQ(check(R"(["H",0,0,[[1,1],[2,1]]])"), "t:5: tensor 2 is used after it was freed");
  EXPECT_EQ(check(R"(["P",2])"), "t:5: tensor 2 is used after it was freed");
  EXPECT_EQ(check(R"(["D",2])"), "t:5: tensor 2 is used after it was freed");
  EXPECT_EQ(check(R"(["V",2,0,-1,1])"), "t:5: tensor 2 is used after it was freed");
  EXPECT_EQ(check(R"(["C",0,0,8,[[2,2]]])"), "t:5: tensor 2 is used after it was freed");
  EXPECT_EQ(check(R"(["X",0,0,0,8,[[2,2]]])"), "t:5: tensor 2 is used after it was freed");
}

TEST(TraceChecker, TensorsAreAllocatedAndFreedOnce) {
  EXPECT_EQ(check(R"(["A",1,50])"), "t:5: tensor 1 is allocated a second time: ids are never used again");
  EXPECT_EQ(check(R"(["A",2,50])"), "t:5: tensor 2 is allocated a second time: ids are never used again");
  EXPECT_EQ(check(R"(["F",2])"), "t:5: tensor 2 is freed a second time");
  EXPECT_EQ(check(R"(["F",3])"), "t:5: tensor 3 is freed but was never allocated");
  EXPECT_EQ(check(R"(["A",3,0])"), "t:5: expected the bytes of an allocation in 1..281474976710656, found 0");
}

// Tensor 1 has bytes 0..99.
TEST(TraceChecker, RangesLieInsideTheTensor) {
  const std::string inside = ": expected at least one byte inside its 100 bytes";
  EXPECT_EQ(check(R"(["H",0,0,[[1,1,0,99,1],[1,1,0,0,100],[1,1,0,99]]])"), "");
  EXPECT_EQ(check(R"(["H",0,0,[[1,1,0,99,2]]])"), "t:5: offset 99, length 2 of tensor 1" + inside);
  EXPECT_EQ(check(R"(["H",0,0,[[1,1,0,100]]])"), "t:5: offset 100, length -1 of tensor 1" + inside);
  EXPECT_EQ(check(R"(["H",0,0,[[1,1,0,0,0]]])"), "t:5: offset 0, length 0 of tensor 1" + inside);
  EXPECT_EQ(check(R"(["H",0,0,[[1,1,0,281474976710656,281474976710656]]])"),
            "t:5: offset 281474976710656, length 281474976710656 of tensor 1" + inside);
  EXPECT_EQ(check(R"(["P",1,0,101])"), "t:5: offset 0, length 101 of tensor 1" + inside);
}

TEST(TraceChecker, DevicesKindsAndStringsAreTheHeaders) {
  EXPECT_EQ(check(R"(["A",3,8,1,{"dev":1}])"), "");
  EXPECT_EQ(check(R"(["A",3,8,1,{"dev":2}])"), "t:5: expected a device 0..1 as in the header, found 2");
  EXPECT_NE(check(R"(["A",3,8,1,{"zeros":101}])").find("a share of zeros in percent"), std::string::npos);
  EXPECT_EQ(check(R"(["A",3,8,2])"), "t:5: kind 2 is not among the header's 2 kinds");
  EXPECT_EQ(check(R"(["P",1,0,-1,-1])"), "");
  EXPECT_EQ(check(R"(["P",1,0,-1,2])"), "t:5: expected a device -1..1 as in the header, found 2");
  EXPECT_EQ(check(R"(["C",3,0,8])"), "t:5: expected a device 0..1 as in the header, found -1");
  EXPECT_EQ(check(R"(["K",0,0,1])"), "t:5: string 0 is named before its \"S\" record");
  EXPECT_EQ(check(R"(["R",0])"), "t:5: string 0 is named before its \"S\" record");
  EXPECT_EQ(check(R"(["L",0])"), "t:5: string 0 is named before its \"S\" record");
}

TEST(TraceChecker, SegmentsHoldTheirTensors) {
  EXPECT_EQ(check("[\"a\",9,1000]\n[\"A\",3,500,0,{\"seg\":9,\"off\":500}]\n[\"F\",3]\n[\"f\",9]"), "");
  EXPECT_EQ(check("[\"a\",9,1000]\n[\"A\",3,500,0,{\"seg\":9,\"off\":501}]"),
            "t:6: tensor 3 of 500 bytes at offset 501 does not fit segment 9 of 1000 bytes");
  EXPECT_EQ(check("[\"a\",9,1000]\n[\"A\",3,500,0,{\"seg\":9,\"off\":0}]\n[\"f\",9]"),
            "t:7: segment 9 is freed while 1 tensors live in it");
  EXPECT_EQ(check(R"(["A",3,500,0,{"seg":9,"off":0}])"), "t:5: tensor 3 lies in segment 9, which is not allocated");
  EXPECT_EQ(check("[\"a\",9,1000]\n[\"f\",9]\n[\"f\",9]"), "t:7: segment 9 is freed a second time");
  EXPECT_EQ(check("[\"a\",9,1000]\n[\"a\",9,1000]"),
            "t:6: segment 9 is allocated a second time: ids are never used again");
  EXPECT_EQ(check("[\"f\",9]"), "t:5: segment 9 is freed but was never allocated");
}

TEST(TraceChecker, EventsAreRecordedBeforeTheyAreWaitedFor) {
  EXPECT_EQ(check("[\"E\",4,0]\n[\"W\",4,1]"), "");
  EXPECT_EQ(check("[\"W\",4,1]\n[\"E\",4,0]"), "t:5: event 4 is waited for before it is recorded");
}

TEST(TraceChecker, OnlySendsAndReceivesHaveAPeerAndItIsAnotherDevice) {
  EXPECT_EQ(check(R"(["X",5,0,0,8,[],{"peer":1}])"), "");
  EXPECT_EQ(check(R"(["X",6,0,0,8,[],{"dev":1,"peer":0}])"), "");
  EXPECT_EQ(check(R"(["X",0,0,0,8,[],{"peer":1}])"), "t:5: only a send or a receive has a peer");
  EXPECT_EQ(check(R"(["X",5,0,0,8,[],{"dev":1,"peer":1}])"), "t:5: device 1 is its own peer");
  EXPECT_EQ(check(R"(["X",5,0,0,8,[],{"peer":2}])"), "t:5: expected a device 0..1 as in the header, found 2");
}

TEST(TraceChecker, StepsJoinOtherThreadsThatHaveSteps) {
  EXPECT_EQ(check("[\"H\",5,1]\n[\"H\",0,0,[],{\"join\":1,\"left\":3}]\n[\"H\",0,2,[],{\"join\":1}]"), "");
  EXPECT_EQ(check(R"(["H",0,0,[],{"join":1}])"), "t:5: thread 1 is waited for before it has a step");
  EXPECT_EQ(check("[\"H\",5,1]\n[\"H\",5,1,[],{\"join\":1}]"), "t:6: thread 1 waits for itself");
  EXPECT_EQ(check(R"(["H",5,0,[],{"left":1}])"), "t:5: \"left\" needs \"join\"");
}

TEST(TraceChecker, IterationsAscend) {
  EXPECT_EQ(check("[\"I\",0]\n[\"I\",4]"), "");
  EXPECT_EQ(check("[\"I\",4]\n[\"I\",4]"), "t:6: iteration 4 follows iteration 4: expected ascending indices");
}

TEST(TraceChecker, PatternsHaveTheOptionsTheyNeed) {
  const auto access = [](const std::string& rest) { return check("[\"H\",0,0,[[1,1," + rest + "]]]"); };
  EXPECT_EQ(access("6"), "t:5: pattern rows of tensor 1 needs the leading dimension in \"tile\"");
  EXPECT_EQ(access("7"), "t:5: pattern stencil of tensor 1 needs rows and columns in \"tile\"");
  EXPECT_EQ(access("8"), "t:5: pattern grid2d of tensor 1 needs rows and columns in \"tile\"");
  EXPECT_EQ(access("9"), "t:5: pattern order of tensor 1 needs \"order\"");
  EXPECT_EQ(access("10"), "t:5: pattern chase of tensor 1 needs \"s\" and \"n\"");
  EXPECT_EQ(access(R"(10,{"s":8,"n":3})"), "");
}

// Of tensor 1, 100 bytes: a grid of 3 rows of 8 floats, 32 bytes apart, spans 96; one of 4 rows 128.
TEST(TraceChecker, PatternsStayInTheirRange) {
  const auto access = [](const std::string& rest) { return check("[\"H\",0,0,[[1,1," + rest + "]]]"); };
  EXPECT_EQ(access(R"(8,0,-1,1,{"tile":[3,8,32]})"), "");
  EXPECT_EQ(access(R"(8,0,-1,1,{"tile":[4,8,32]})"),
            "t:5: pattern grid2d of tensor 1: \"tile\" spans 128 bytes, its range has 100");
  EXPECT_EQ(access(R"(8,0,-1,1,{"tile":[4,8,0]})"),
            "t:5: pattern grid2d of tensor 1: \"tile\" spans 128 bytes, its range has 100");
  EXPECT_EQ(access(R"(7,8,92,1,{"tile":[3,8,32]})"),
            "t:5: pattern stencil of tensor 1: \"tile\" spans 96 bytes, its range has 92");
  EXPECT_EQ(access(R"(7,0,-1,1,{"tile":[2147483647,1,281474976710656]})"),
            "t:5: pattern stencil of tensor 1: \"tile\" spans more than 2^53 bytes, its range has 100\n"
            "t:5: the tile of tensor 1 spans more than 72057594037927936 bytes");
  EXPECT_EQ(access(R"(9,0,-1,1,{"order":[0,99]})"), "");
  EXPECT_EQ(access(R"(9,0,-1,1,{"order":[0,100]})"),
            "t:5: pattern order of tensor 1: \"order\" has offset 100, its range has 100");
}

// 2^40 touches of an access, 2^24 where each is a place in a list; 2^48 bytes in all passes; 2^40 CTAs.
TEST(TraceChecker, CountsHaveMaxima) {
  const auto access = [](const std::string& rest) { return check("[\"H\",0,0,[[1,1," + rest + "]]]"); };
  EXPECT_EQ(access(R"(2,0,-1,1,{"n":1099511627776})"), "");
  EXPECT_EQ(access(R"(2,0,-1,2,{"n":1099511627776})"),
            "t:5: pattern rand of tensor 1: expected at most 1099511627776 touches in all passes");
  EXPECT_EQ(access(R"(10,0,-1,1,{"s":4,"n":16777216})"), "");
  EXPECT_EQ(access(R"(10,0,-1,1,{"s":4,"n":16777217})"),
            "t:5: pattern chase of tensor 1: expected at most 16777216 touches in all passes");
  EXPECT_EQ(check("[\"A\",3,140737488355328]\n[\"H\",0,0,[[3,1,0,0,1048576,2147483647]]]"),
            "t:5: what is allocated at once is more than 17592186044416 bytes\n"
            "t:6: 2147483647 passes over 1048576 bytes of tensor 3: expected at most 281474976710656 bytes in all");
  EXPECT_EQ(check("[\"S\",0,\"k\"]\n[\"K\",0,0,1,[],{\"grid\":1099511627777}]"),
            "t:6: expected a grid in 0..1099511627776, found 1099511627777");
}

// 10^15 ns: as much as one kernel may take, all of them may together. What was freed is not there any more.
TEST(TraceChecker, SumsHaveMaxima) {
  EXPECT_EQ(check("[\"H\",999999999999999,0]\n[\"H\",1,0]"), "");
  EXPECT_EQ(check("[\"H\",999999999999999,0]\n[\"H\",2,0]\n[\"H\",2,0]"),
            "t:6: the durations and gaps up to here add up to more than 1000000000000000 ns");
  EXPECT_EQ(check("[\"A\",3,17592186044316]"), "");  // tensor 1 has the other 100 bytes
  EXPECT_EQ(check("[\"A\",3,17592186044317]"), "t:5: what is allocated at once is more than 17592186044416 bytes");
  EXPECT_EQ(check("[\"A\",3,17592186044316]\n[\"F\",3]\n[\"A\",4,17592186044316]"), "");
}

TEST(TraceChecker, CtasHaveAtMost1024Threads) {
  const auto access = [](const std::string& block) {
    return check(R"(["H",0,0,[[1,1,7,{"tile":[3,8,32],"blk":)" + block + "}]]]");
  };
  EXPECT_EQ(access("[32,32]"), "");
  EXPECT_EQ(access("[64,32]"), "t:5: CTAs of 64 x 32 threads touch tensor 1: expected 1..1024 in all");
  EXPECT_THAT(access("[0,32]"), testing::HasSubstr("the threads of a CTA in a dimension"));
  EXPECT_THAT(access("[32]"), testing::HasSubstr("two numbers in \"blk\""));
}

TEST(TraceChecker, TheTileOfACtaHasAtMost4096RowsAndColumns) {
  const auto access = [](const std::string& tile) {
    return check(R"(["H",0,0,[[1,2,1,{"tile":[3,8,32],"cta":)" + tile + "}]]]");
  };
  EXPECT_EQ(access("[4096,32]"), "");
  EXPECT_THAT(access("[4097,32]"), testing::HasSubstr("the rows or columns of a CTA's tile"));
  EXPECT_THAT(access("[32,31]"), testing::HasSubstr("the rows or columns of a CTA's tile"));
  EXPECT_THAT(access("[64]"), testing::HasSubstr("two numbers in \"cta\""));
}

TEST(TraceChecker, PlacesTheFaultsOfATraceInMemoryByRecord) {
  Trace trace;
  trace.records = {Iteration{0}, Free{1}, Synchronize{-2}};
  const std::vector<InputError> errors = check_trace(trace);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].place, "record 1");
  EXPECT_EQ(errors[0].message, "tensor 1 is freed but was never allocated");
  EXPECT_EQ(errors[1].place, "record 2");
  EXPECT_EQ(errors[1].message, "expected a stream in -1..2147483647, found -2");
}

TEST(TraceChecker, RefusesValuesThatNoFileCanHold) {
  Trace trace;
  trace.accesses = {{.tensor = 1, .mode = static_cast<Mode>(9), .pattern = static_cast<Pattern>(99), .options = 3}};
  trace.records = {Alloc{.tensor = 1, .bytes = 8}, HostStep{.duration_ns = -1, .accesses = {0, 1}}};
  EXPECT_EQ(check_trace(trace).size(), 4u);
}

}  // namespace
}  // namespace uvmsim::trace
