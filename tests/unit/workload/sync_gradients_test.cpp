#include "workload/sync_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "trace/checker.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

std::vector<trace::CollectiveOp> collectives(const trace::Trace& trace) {
  std::vector<trace::CollectiveOp> found;
  for (const trace::Record& record : trace.records)
    if (const auto* op = std::get_if<trace::CollectiveOp>(&record)) found.push_back(*op);
  return found;
}

// Gradients of 100 and 200 bytes live at both ends; one of 50 bytes is freed in the first iteration.
trace::Trace training() {
  TraceBuilder builder(trace::Header{});
  builder.header().devices.resize(1);
  const trace::TensorId weights = builder.allocate(Bytes{300}, TensorKind::Param);
  const trace::TensorId first = builder.allocate(Bytes{100}, TensorKind::WeightGradient);
  const trace::TensorId second = builder.allocate(Bytes{200}, TensorKind::WeightGradient);
  const trace::TensorId third = builder.allocate(Bytes{50}, TensorKind::WeightGradient);
  for (int i = 0; i < 2; ++i) {
    builder.iteration(i);
    builder.kernel("backward", {.stream = 3, .duration_ns = 10}, {reads(weights), writes(first), writes(second)});
    if (i == 0) builder.free(third);
  }
  return builder.take();
}

TEST(SyncGradients, EndsEachIterationInOneAllReduceOfTheLiveGradients) {
  const trace::Trace synced = sync_gradients(training());
  const auto found = collectives(synced);
  ASSERT_EQ(found.size(), 2u);
  for (const trace::CollectiveOp& op : found) {
    EXPECT_EQ(op.kind, trace::Collective::AllReduce);
    EXPECT_EQ(op.bytes, 300);
    EXPECT_EQ(op.stream, 3);
    ASSERT_EQ(op.accesses.count, 2u);
    EXPECT_EQ(synced.accesses[op.accesses.first].tensor, 2);
    EXPECT_EQ(synced.accesses[op.accesses.first].mode, trace::Mode::ReadWrite);
  }
  EXPECT_TRUE(std::holds_alternative<trace::CollectiveOp>(synced.records.back()));
  EXPECT_THAT(trace::check_trace(synced), testing::IsEmpty());
}

TEST(SyncGradients, RefusesAWorkloadWithoutGradients) {
  TraceBuilder builder(trace::Header{});
  builder.iteration(0);
  EXPECT_THROW(sync_gradients(builder.take()), UserError);
}

}  // namespace
}  // namespace uvmsim
