#include "workload/pipeline_schedule.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

constexpr Duration kSecond = from_seconds(1);

// Forward takes 1 s and backward 2 s in each of `stages` stages, and passing on nothing.
std::vector<StageTimes> even_stages(int stages) {
  return std::vector<StageTimes>(static_cast<std::size_t>(stages), {.forward = kSecond, .backward = 2 * kSecond});
}

Duration batch_of(PipelineKind kind, const std::vector<StageTimes>& stages, int micro_batches) {
  return run_pipeline(kind, stages, micro_batches).batch;
}

// The first of two stages runs one micro-batch ahead.
TEST(PipelineSchedule, TakesForwardAndBackwardInTurns) {
  using enum StageTask::Kind;
  EXPECT_EQ(stage_order(PipelineKind::Flush, 2, 0, 3, 1),
            (std::vector<StageTask>{
                {Forward, 0}, {Forward, 1}, {Backward, 0}, {Forward, 2}, {Backward, 1}, {Backward, 2}, {Step, 2}}));
  EXPECT_EQ(stage_order(PipelineKind::GPipe, 2, 0, 2, 1),
            (std::vector<StageTask>{{Forward, 0}, {Forward, 1}, {Backward, 1}, {Backward, 0}, {Step, 1}}));
  // The forward pass of the next batch is before the first batch's step.
  EXPECT_EQ(stage_order(PipelineKind::DoubleBuffered, 2, 0, 2, 2), (std::vector<StageTask>{{Forward, 0},
                                                                                           {Forward, 1},
                                                                                           {Backward, 0},
                                                                                           {Forward, 2},
                                                                                           {Backward, 1},
                                                                                           {Step, 1},
                                                                                           {Forward, 3},
                                                                                           {Backward, 2},
                                                                                           {Backward, 3},
                                                                                           {Step, 3}}));
}

// 8 micro-batches and 4 GPUs with two packs of half a second forward and one back each: the bubble is that of the packs,
// (4 - 1) * 1.5 s, so that a batch takes 28.5 s.
TEST(PipelineSchedule, PacksInTurnsHalveTheBubble) {
  const std::vector<StageTimes> packs(8, {.forward = kSecond / 2, .backward = kSecond});
  EXPECT_EQ(run_pipeline(PipelineKind::GPipe, packs, 8, 8, 2).batch, from_seconds(28.5));
}

// 8 micro-batches of 3 s and 4 stages: (8 + 4 - 1) * 3 = 33 s with a flush, of which 9 are bubble; 24 s without; 96 s
// one after the other.
TEST(PipelineSchedule, TakesWhatTheBubbleSays) {
  const std::vector<StageTimes> stages = even_stages(4);
  EXPECT_EQ(batch_of(PipelineKind::Flush, stages, 8), 33 * kSecond);
  EXPECT_EQ(batch_of(PipelineKind::GPipe, stages, 8), 33 * kSecond);
  EXPECT_EQ(batch_of(PipelineKind::DoubleBuffered, stages, 8), 24 * kSecond);
  EXPECT_EQ(batch_of(PipelineKind::ModelParallel, stages, 8), 96 * kSecond);
  EXPECT_DOUBLE_EQ(flush_bubble(4, 8), 3. / 11);
  EXPECT_DOUBLE_EQ(1 - 24. / 33, flush_bubble(4, 8));
}

TEST(PipelineSchedule, KeepsAsManyMicroBatchesAsItsFormulaSays) {
  for (const PipelineKind kind :
       {PipelineKind::ModelParallel, PipelineKind::GPipe, PipelineKind::Flush, PipelineKind::DoubleBuffered}) {
    const PipelineRun run = run_pipeline(kind, even_stages(4), 6);
    for (int stage = 0; stage < 4; ++stage)
      EXPECT_EQ(run.in_flight[static_cast<std::size_t>(stage)], micro_batches_in_flight(kind, 4, stage, 6));
  }
  EXPECT_EQ(micro_batches_in_flight(PipelineKind::Flush, 4, 1, 6), 3);           // d - i
  EXPECT_EQ(micro_batches_in_flight(PipelineKind::Flush, 4, 1, 2), 2);           // there are no more
  EXPECT_EQ(micro_batches_in_flight(PipelineKind::DoubleBuffered, 4, 1, 6), 3);  // d - i
  EXPECT_EQ(micro_batches_in_flight(PipelineKind::GPipe, 4, 1, 6), 6);
}

// Each micro-batch goes there in 0.5 s and comes back in 0.25 s: one after the other, 2 * (3 + 0.75 + 3) = 13.5 s.
TEST(PipelineSchedule, PassesOnBetweenStages) {
  std::vector<StageTimes> stages = even_stages(2);
  stages[0].send_forward = kSecond / 2;
  stages[1].send_backward = kSecond / 4;
  EXPECT_EQ(batch_of(PipelineKind::ModelParallel, stages, 2), from_seconds(13.5));
}

// Two micro-batches are in flight, and each is back after 1 + 5 + 1 + 2 + 2 = 11 s where the way there takes 5.
TEST(PipelineSchedule, IsNoFasterThanWhatIsInFlightComesBack) {
  std::vector<StageTimes> stages = even_stages(2);
  stages[0].send_forward = 5 * kSecond;
  EXPECT_EQ(batch_of(PipelineKind::DoubleBuffered, stages, 8), 44 * kSecond);
}

// Summing gradients for 10 s ends each batch of 33 s with a flush. Two versions of weights hide it behind the 24 s of
// the next batch, and 30 s not.
TEST(PipelineSchedule, HidesTheAllReduceBehindTheNextBatchWhereThereAreTwoVersions) {
  std::vector<StageTimes> stages = even_stages(4);
  for (StageTimes& stage : stages) stage.all_reduce = 10 * kSecond;
  EXPECT_EQ(batch_of(PipelineKind::Flush, stages, 8), 43 * kSecond);
  EXPECT_EQ(batch_of(PipelineKind::DoubleBuffered, stages, 8), 24 * kSecond);
  for (StageTimes& stage : stages) stage.all_reduce = 30 * kSecond;
  EXPECT_EQ(batch_of(PipelineKind::DoubleBuffered, stages, 8), 30 * kSecond);
}

}  // namespace
}  // namespace uvmsim
