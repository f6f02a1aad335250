#include "study/known_operands.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

trace::Trace recorded_on(const std::string& gpu) {
  trace::Trace trace;
  trace.header.operands_status = "exact";
  trace.header.devices.push_back({gpu, 0, 0, 0});
  return trace;
}

TEST(RecordedGpu, IsNamedWhereTheMachineHasAnother) {
  EXPECT_EQ(known_operands(recorded_on("NVIDIA H100 80GB HBM3"), "Tesla V100-SXM2-16GB")->recorded_on,
            "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(known_operands(recorded_on("NVIDIA H100 80GB HBM3"), "H100-SXM-80GB")->recorded_on, "");
}

// Both have 80 GB, HBM3 or SXM sockets: that makes no model.
TEST(RecordedGpu, IsKnownByItsModelAndNotByItsMemory) {
  EXPECT_FALSE(may_be_one_model("NVIDIA H100 80GB HBM3", "A100-SXM4-80GB"));
  EXPECT_FALSE(may_be_one_model("NVIDIA A100-SXM4-40GB", "H100 SXM4 40GB"));
  EXPECT_TRUE(may_be_one_model("NVIDIA A100-SXM4-40GB", "A100-PCIe-80GB"));
  EXPECT_TRUE(may_be_one_model("NVIDIA GeForce RTX 3080", "RTX 3080"));
  EXPECT_FALSE(may_be_one_model("NVIDIA GeForce RTX 3080", "RTX 4080"));
}

TEST(RecordedGpu, OfANameWithoutAModelsNumberMayBeAny) {
  EXPECT_TRUE(may_be_one_model("TITAN V", "Tesla V100"));
  EXPECT_TRUE(may_be_one_model("", "Tesla V100"));
}

}  // namespace
}  // namespace uvmsim
