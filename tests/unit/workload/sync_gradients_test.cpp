#include "workload/sync_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/user_error.h"
#include "support/sizes.h"
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

// --- buckets and accumulation

// Backward makes the gradients of four layers, last layer first: 2, 10, 20 and 10 MiB. The optimizer keeps state that
// its first step makes, and changes the gradients (weight decay) before it reads them.
trace::Trace deep_training(int iterations) {
  TraceBuilder b(trace::Header{});
  b.header().devices.resize(1);
  std::vector<trace::TensorId> gradients;
  for (const std::int64_t size : {10, 20, 10, 2})
    gradients.push_back(b.allocate(Bytes{size * kMiB}, TensorKind::WeightGradient));
  trace::TensorId state = 0;
  for (int i = 0; i < iterations; ++i) {
    b.iteration(i);
    b.kernel("zero_", {.duration_ns = 1}, {writes(gradients[0]), writes(gradients[3])});
    b.phase("backward");
    const trace::TensorId activation = b.allocate(Bytes{100}, TensorKind::Activation);
    for (int layer = 3; layer >= 0; --layer)
      b.kernel("backward" + std::to_string(layer), {.duration_ns = 10},
               {reads(activation), updates(gradients[static_cast<std::size_t>(layer)])});
    b.free(activation);
    b.phase("optimizer");
    if (state == 0) {
      state = b.allocate(Bytes{10}, TensorKind::Optimizer);
      b.kernel("fill", {.duration_ns = 1}, {writes(state)});
    }
    const trace::TensorId temporary = b.allocate(Bytes{7}, TensorKind::Workspace);
    b.kernel("decay", {.duration_ns = 1}, {updates(gradients[0]), writes(temporary)});
    b.kernel("step", {.duration_ns = 1}, {reads(temporary), updates(state)});
    b.free(temporary);
  }
  return b.take();
}

// The records that run on streams, by name: kernels as they are called, "E3@1" for event 3 recorded on stream 1,
// "W3@1" for stream 1 waiting for it, "X12@1" for an all-reduce of 12 MiB.
std::vector<std::string> schedule(const trace::Trace& trace) {
  std::vector<std::string> names;
  for (const trace::Record& record : trace.records) {
    if (const auto* k = std::get_if<trace::Kernel>(&record))
      names.push_back(trace.strings[static_cast<std::size_t>(k->name)]);
    if (const auto* e = std::get_if<trace::EventRecord>(&record))
      names.push_back("E" + std::to_string(e->event) + "@" + std::to_string(e->stream));
    if (const auto* w = std::get_if<trace::EventWait>(&record))
      names.push_back("W" + std::to_string(w->event) + "@" + std::to_string(w->stream));
    if (const auto* x = std::get_if<trace::CollectiveOp>(&record))
      names.push_back("X" + std::to_string(x->bytes / kMiB) + "@" + std::to_string(x->stream));
  }
  return names;
}

// Buckets of 25 MiB: the first is full at 1 MiB, with the 2 MiB of layer 3; the second at 25, with the 30 MiB of
// layers 2 and 1; what is left is the third.
TEST(SyncGradients, FillsBucketsInTheOrderInWhichGradientsBecomeReady) {
  const trace::Trace synced = sync_gradients(deep_training(1), {.bucket = Bytes{25 * kMiB}});
  EXPECT_THAT(schedule(synced), testing::ElementsAre("zero_", "backward3", "E0@0", "W0@1", "X2@1", "backward2",
                                                     "backward1", "E0@0", "W0@1", "X30@1", "backward0", "E0@0", "W0@1",
                                                     "X10@1", "E1@1", "W1@0", "fill", "decay", "step"));
  EXPECT_THAT(trace::check_trace(synced), testing::IsEmpty());
}

TEST(SyncGradients, TakesAStepInEveryNthIteration) {
  const trace::Trace synced = sync_gradients(deep_training(4), {.every = 2});
  const std::vector<std::string> backward = {"backward3", "backward2", "backward1", "backward0"};
  std::vector<std::string> expected;
  const auto add = [&](const std::vector<std::string>& names) {
    expected.insert(expected.end(), names.begin(), names.end());
  };
  add({"zero_"}), add(backward);  // nothing of the step, not even the state it would have made
  add(backward), add({"fill", "decay", "step", "X42@0"});
  add({"zero_"}), add(backward);
  add(backward), add({"decay", "step", "X42@0"});
  EXPECT_EQ(schedule(synced), expected);
  EXPECT_THAT(trace::check_trace(synced), testing::IsEmpty());
}

TEST(SyncGradients, BucketsOfAnAccumulatedIterationAreSummedInTheLastOne) {
  const trace::Trace synced = sync_gradients(deep_training(3), {.bucket = Bytes{25 * kMiB}, .every = 3});
  const auto sums = collectives(synced);
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[0].bytes + sums[1].bytes + sums[2].bytes, 42 * kMiB);
}

TEST(SyncGradients, RefusesBucketsWithoutAPhaseThatWaitsForThem) {
  EXPECT_THROW(sync_gradients(training(), {.bucket = Bytes{1}}), UserError);
  EXPECT_THROW(sync_gradients(training(), {.every = 2}), UserError);
}

// PyTorch 2's zero_grad drops the gradients inside the optimizer phase: they are summed before the step.
TEST(SyncGradients, SumsWhatTheStepFreesBeforeTheStep) {
  trace::Trace trace = deep_training(1);
  for (const trace::TensorId gradient : {1, 2, 3, 4}) trace.records.emplace_back(trace::Free{gradient});
  const std::vector<std::string> order = schedule(sync_gradients(trace));
  const auto at = [&](const std::string& name) { return std::ranges::find(order, name) - order.begin(); };
  EXPECT_LT(at("backward0"), at("X42@0"));
  EXPECT_LT(at("X42@0"), at("step"));
}

// Each iteration makes gradients of 4 and 1 MiB; its optimizer frees them.
trace::Trace dropping_training(int iterations) {
  TraceBuilder b(trace::Header{});
  b.header().devices.resize(1);
  const auto state = b.allocate(Bytes{8 * kMiB}, TensorKind::Optimizer);
  for (int i = 0; i < iterations; ++i) {
    b.iteration(i);
    b.phase("backward");
    const auto large = b.allocate(Bytes{4 * kMiB}, TensorKind::WeightGradient);
    b.kernel("backward1", {.duration_ns = 10}, {writes(large)});
    const auto small = b.allocate(Bytes{1 * kMiB}, TensorKind::WeightGradient);
    b.kernel("backward0", {.duration_ns = 10}, {writes(small)});
    b.phase("optimizer");
    b.kernel("step1", {.duration_ns = 20}, {reads(large), updates(state)});
    b.kernel("step0", {.duration_ns = 20}, {reads(small)});
    b.free(large);
    b.free(small);
  }
  return b.take();
}

// Of three iterations the first leaves its gradients, the others add theirs as soon as they are made; the optimizer of
// the last uses the sums. step1 takes 20 ns for 4 + 2 x 8 MiB, so that the sum of 3 x 4 MiB takes 12; step0 takes 20 ns
// for 1 MiB, so that the sum of 3 x 1 MiB takes 60.
TEST(SyncGradients, AccumulatesWhatEachStepFrees) {
  const trace::Trace synced = sync_gradients(dropping_training(6), {.every = 3});
  std::vector<std::string> expected;
  for (int group = 0; group < 2; ++group)
    for (const char* name : {"backward1", "backward0", "backward1", "accumulate_grad", "backward0", "accumulate_grad",
                             "backward1", "accumulate_grad", "backward0", "accumulate_grad", "X5@0", "step1", "step0"})
      expected.emplace_back(name);
  EXPECT_EQ(schedule(synced), expected);
  EXPECT_THAT(trace::check_trace(synced), testing::IsEmpty());
  std::vector<std::int64_t> durations;
  std::vector<trace::TensorId> summed, stepped;  // the large gradients'
  for (const trace::Record& record : synced.records)
    if (const auto* k = std::get_if<trace::Kernel>(&record)) {
      const std::string& name = synced.strings[static_cast<std::size_t>(k->name)];
      if (name == "step1") stepped.push_back(synced.accesses[k->accesses.first].tensor);
      if (name != "accumulate_grad") continue;
      durations.push_back(k->duration_ns);
      if (k->duration_ns == 12) summed.push_back(synced.accesses[k->accesses.first + 1].tensor);
    }
  EXPECT_THAT(durations, testing::ElementsAre(12, 60, 12, 60, 12, 60, 12, 60));
  ASSERT_EQ(stepped.size(), 2U);
  EXPECT_THAT(summed, testing::ElementsAre(stepped[0], stepped[0], stepped[1], stepped[1]));
}

TEST(SyncGradients, RefusesToAccumulateGradientsOfDifferentSizes) {
  trace::Trace trace = dropping_training(2);
  for (trace::Record& record : trace.records)
    if (auto* alloc = std::get_if<trace::Alloc>(&record); alloc != nullptr && alloc->tensor == 2) alloc->bytes = 7;
  EXPECT_THROW(sync_gradients(trace, {.every = 2}), UserError);
}

// Gradients from before are not made anew in each iteration: dropped in one, they would be missing in the next.
TEST(SyncGradients, RefusesToAccumulateWhatTheStepFrees) {
  trace::Trace trace = deep_training(1);
  trace.records.emplace_back(trace::Free{1});
  EXPECT_THROW(sync_gradients(trace, {.every = 2}), UserError);
  EXPECT_NO_THROW(sync_gradients(trace, {.bucket = Bytes{1}}));
}

}  // namespace
}  // namespace uvmsim
