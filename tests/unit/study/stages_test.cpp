// Stages of one program: times add up, and each GPU has what its own input holds.
#include "study/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;

// c = a + b of so many floats on two GPUs, a process each, explicit memory without a pool: 3 x 4 bytes an element.
Experiment vectors(const std::string& name, const std::string& elements, const std::string& usable = "1 GB") {
  return experiment_of(R"({"name": ")" + name +
                           R"(", "machine": {"extends": "machines/dgx1_v100_32gb.json", "gpus": 2},
    "workload": {"generator": "vector_add", "elements": )" +
                           elements + R"(, "allocator": "none", "memory": "device", "data_parallel": true},
    "run": {"warmup": 0, "iterations": 1}})",
                       {"machine.gpu.usable_memory=" + usable});
}

Stage stage_of(const std::string& name, std::int64_t repeats, std::vector<std::string> elements,
               const std::string& usable = "1 GB") {
  Stage stage{.name = name, .repeats = repeats, .run_of = {}, .runs = {}};
  for (std::size_t gpu = 0; gpu < 2; ++gpu) stage.run_of.push_back(std::min(gpu, elements.size() - 1));
  for (const std::string& count : elements) stage.runs.push_back(vectors(name, count, usable));
  return stage;
}

std::vector<Stage> one(Stage stage) {
  std::vector<Stage> stages;
  stages.push_back(std::move(stage));
  return stages;
}

// 1 and 2 Mi elements: 12 and 24 MiB. The stage is as long as its GPU with the larger input alone would make it.
TEST(Stages, TakeAsLongAsTheGpuWithTheLargestInput) {
  const StageResult uneven = run_stages(one(stage_of("uneven", 3, {"1048576", "2097152"}))).stages.front();
  EXPECT_THAT(uneven.reserved_bytes, ElementsAre(12 << 20, 24 << 20));
  const StageResult large = run_stages(one(stage_of("large", 1, {"2097152"}))).stages.front();
  EXPECT_NEAR(uneven.duration_s, 3 * large.duration_s, 1e-12);
}

TEST(Stages, SayWhichDidNotFitAndGoOn) {
  std::vector<Stage> stages = one(stage_of("too large", 1, {"2097152"}, "16 MiB"));
  stages.push_back(stage_of("fits", 1, {"1048576"}));
  const StagesReport report = run_stages(stages);
  EXPECT_EQ(report.stages[0].outcome, Outcome::OutOfMemory);
  EXPECT_EQ(report.stages[0].duration_s, 0);
  EXPECT_GT(report.stages[1].duration_s, 0);
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("out_of_memory"));
  EXPECT_THAT(text, HasSubstr("too large: "));
}

// One process, for one GPU: the other has nothing to do and holds nothing.
TEST(Stages, GiveNoMemoryToGpusWithNothingToDo) {
  Stage stage = stage_of("one GPU", 1, {"1048576"});
  stage.runs.front().workload.data_parallel = false;
  const StagesReport report = run_stages(one(std::move(stage)));
  EXPECT_THAT(report.stages.front().reserved_bytes, ElementsAre(12 << 20, 0));
}

// Three arrays of 8 MiB: the third does not fit into 16 MiB, so the curve ends after two events.
TEST(Stages, ShowThePoolUpToTheEventThatFoundNoMemory) {
  const StagesReport report = run_stages(one(stage_of("too large", 1, {"2097152"}, "16 MiB")));
  const StageResult& stage = report.stages.front();
  ASSERT_EQ(stage.curve.size(), 2u);
  EXPECT_EQ(stage.curve.back().used_bytes, 16 << 20);
  EXPECT_EQ(stage.out_of_memory, 3);
  EXPECT_THAT(to_text(report), HasSubstr("X out of memory"));
}

// 34.36 GB are a card's: the line is where 24 MiB hardly begin.
TEST(Stages, DrawTheCardsMemoryAsALine) {
  const std::string text = to_text(run_stages(one(stage_of("small", 1, {"2097152"}))));
  EXPECT_THAT(text, HasSubstr("small  " + std::string(39, ' ') + "|\n"));
}

}  // namespace
}  // namespace uvmsim
