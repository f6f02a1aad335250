#include "trace/communicators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/trace_text.h"

namespace uvmsim::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> checked(const std::string& records, int replicas = 1) {
  return collective_errors(trace_of(R"(["M",{"v":1,"dev":[{},{},{},{}]}])"
                                    "\n" +
                                    records),
                           replicas);
}

TEST(CollectiveErrors, AcceptsRanksThatAgree) {
  EXPECT_THAT(checked(R"(["X",0,0,0,8]
["X",3,0,0,9]
["X",0,0,0,8,[],{"dev":1}]
["X",0,1,0,5,[],{"dev":1}]
["X",3,0,0,9,[],{"dev":1}]
["X",5,0,0,7,[],{"peer":1}]
["X",6,0,0,7,[],{"dev":1,"peer":0}]
)"),
              IsEmpty());
}

TEST(CollectiveErrors, NamesTheFirstDifference) {
  EXPECT_THAT(checked(R"(["X",0,4,0,8]
["X",0,4,0,8]
["X",0,4,0,8,[],{"dev":2}]
["X",3,4,0,8,[],{"dev":2}]
)"),
              ElementsAre("communicator 4: collective 1 is: all-reduce of 8 bytes on device 0, broadcast of 8 bytes on "
                          "device 2"));
  EXPECT_THAT(
      checked(R"(["X",0,4,0,8]
["X",0,4,0,9,[],{"dev":2}]
)"),
      ElementsAre("communicator 4: collective 0 is: all-reduce of 8 bytes on device 0, all-reduce of 9 bytes on "
                  "device 2"));
}

TEST(CollectiveErrors, CountsThoseThatOneMisses) {
  EXPECT_THAT(checked(R"(["X",0,0,0,8]
["X",0,0,0,8]
["X",0,0,0,8,[],{"dev":1}]
)"),
              ElementsAre("communicator 0: device 0 takes part 2 times, device 1 1 times"));
}

TEST(CollectiveErrors, RanksOfAnAllToAllMaySendDifferentAmounts) {
  EXPECT_THAT(checked("[\"X\",4,0,0,8]\n[\"X\",4,0,0,9,[],{\"dev\":1}]\n"), IsEmpty());
}

// Four devices with ranks 2 are two groups, which may differ; with ranks 3 they are none.
TEST(CollectiveErrors, RanksDivideThoseWhoTakePart) {
  const auto four = [](const std::string& ranks) {
    std::string records;
    for (const char* device : {"0", "1", "2", "3"})
      records += std::string(R"(["X",0,0,0,)") + (device[0] < '2' ? "8" : "9") + R"(,[],{"ranks":)" + ranks +
                 R"(,"dev":)" + device + "}]\n";
    return records;
  };
  EXPECT_THAT(checked(four("2")), IsEmpty());
  EXPECT_THAT(checked(four("3")),
              testing::Contains("communicator 0: 4 GPUs take part, which make no groups of 3 ranks"));
}

TEST(CollectiveErrors, RanksDivideTheReplicas) {
  const std::string one = R"(["X",0,2,0,8,[],{"ranks":3}])"
                          "\n";
  EXPECT_THAT(checked(one, 6), IsEmpty());
  EXPECT_THAT(checked(one, 2), IsEmpty());
  EXPECT_THAT(checked(one, 8), ElementsAre("communicator 2: 8 GPUs take part, which make no groups of 3 ranks"));
}

TEST(CollectiveErrors, EverySendHasItsReceive) {
  EXPECT_THAT(checked(R"(["X",5,0,0,7,[],{"peer":1}]
["X",5,0,0,7,[],{"peer":1}]
["X",6,0,0,8,[],{"dev":1,"peer":0}]
)"),
              ElementsAre("communicator 0: device 0 sends 2 times to device 1, which receives 1 times from it",
                          "communicator 0: send 0 from device 0 to device 1 has 7 bytes, its receive 8"));
}

TEST(CollectiveErrors, ReplicasHaveNoPeersAndDevicesNoUnknownOnes) {
  EXPECT_THAT(checked("[\"X\",5,0,0,7]\n[\"X\",6,0,0,7]\n", 4), IsEmpty());
  EXPECT_THAT(checked("[\"X\",5,0,0,7,[],{\"peer\":1}]\n", 4),
              ElementsAre("communicator 0: device 0 sends to device 1, but replicas have one device each: a trace with "
                          "peers runs in one process"));
  EXPECT_THAT(checked("[\"X\",5,0,0,7]\n[\"X\",5,0,0,7,[],{\"dev\":1}]\n"),
              ElementsAre("communicator 0: send of 7 bytes on device 0 names no peer",
                          "communicator 0: send of 7 bytes on device 1 names no peer"));
}

}  // namespace
}  // namespace uvmsim::trace
