// How a config asks for gradients to be summed.
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

std::string synchronised(const std::string& keys, int iterations = 2) {
  return R"({"machine": {"extends": "machines/v100_sxm2_32gb.json"}, "workload": {"generator": "resnet1001", "batch": 1, )" +
         keys + R"(}, "run": {"warmup": 0, "iterations": )" + std::to_string(iterations) + "}}";
}

TEST(SyncKeys, ReachTheTransform) {
  const Experiment e =
      experiment_of(synchronised(R"("sync_gradients": true, "sync_bucket": "25 MiB", "sync_every": 2)"));
  EXPECT_EQ(e.workload.sync.bucket, Bytes{25 << 20});
  EXPECT_EQ(e.workload.sync.every, 2);
}

TEST(SyncKeys, MeanNothingAlone) {
  EXPECT_THROW(experiment_of(synchronised(R"("sync_bucket": "25 MiB")")), UserError);
  EXPECT_THROW(experiment_of(synchronised(R"("sync_every": 2)")), UserError);
}

// The mean of three iterations, of which one or two take a step, would say nothing.
TEST(SyncKeys, IterationsAreWholeRounds) {
  const std::string every_second = R"("sync_gradients": true, "sync_every": 2)";
  EXPECT_THROW(make_trace(experiment_of(synchronised(every_second, 3))), UserError);
  EXPECT_NO_THROW(make_trace(experiment_of(synchronised(every_second, 4))));
}

}  // namespace
}  // namespace uvmsim
