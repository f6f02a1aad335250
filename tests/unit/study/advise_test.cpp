// What `uvmsim advise` says of trials, and what it tries.
#include "study/advice/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Result lasting(double duration_s) {
  Result result;
  result.duration_s = duration_s;
  return result;
}

// Gains by `gain`, with a band a fifth to each side.
Trial gaining(const std::string& name, double gain) {
  Trial trial{.candidate = {.kind = "policy", .name = name, .meaning = "m", .change = "c", .needs = "", .machine = ""},
              .tried = true,
              .result = lasting(10 / gain)};
  trial.gain = gain;
  trial.gain_low = gain * 0.8;
  trial.gain_high = gain * 1.2;
  trial.told_apart = trial.gain_low > 1 || trial.gain_high < 1;
  return trial;
}

Advice advice_of(std::vector<Trial> trials) {
  Advice advice{.experiment = "e", .description = "", .setup = {}, .command = "uvmsim run e", .budget_s = 60};
  advice.setup.usable_memory_bytes = 2'000'000'000;
  advice.need_bytes = 3'000'000'000;
  advice.now = {.candidate = {}, .tried = true, .result = lasting(10)};
  advice.in_core = {.candidate = {}, .tried = true, .result = lasting(2)};
  advice.trials = std::move(trials);
  return advice;
}

// 1.1 x 0.8 is below 1: that may be no gain at all.
TEST(AdviceRanking, RanksWhatGainsByMoreThanItsError) {
  const Advice advice = advice_of({gaining("a", 1.1), gaining("b", 2), gaining("c", 5), gaining("d", 0.5)});
  std::vector<std::string> names;
  for (const Trial* trial : advice.gains()) names.push_back(trial->candidate.name);
  EXPECT_THAT(names, ElementsAre("c", "b"));
  EXPECT_THAT(to_text(advice), AllOf(HasSubstr("1. 5x (4x to 6x)  c: m"), HasSubstr("2. 2x (1.6x to 2.4x)  b: m"),
                                     HasSubstr("a  1.1x (0.88x to 1.32x): inside the error of no change at all"),
                                     HasSubstr("d  0.5x (0.4x to 0.6x): slower")));
}

// 1.8 x 1.2 = 2.16 is above 2.
TEST(AdviceRanking, SaysWhichOfTheBestAreTooCloseToTell) {
  EXPECT_THAT(to_text(advice_of({gaining("a", 1.8), gaining("b", 2)})), HasSubstr("b need not beat a."));
  EXPECT_THAT(to_text(advice_of({gaining("a", 1.6), gaining("b", 2)})), Not(HasSubstr("need not beat")));
}

TEST(AdviceRanking, SaysWhenNothingHelps) {
  EXPECT_THAT(to_text(advice_of({gaining("a", 1.1)})),
              HasSubstr("Nothing that was tried helps by more than the error of its prediction."));
}

// 3 of 2 GB; 10 s instead of 2.
TEST(AdviceRanking, AnswersWhetherItFitsAndHowSlowItIs) {
  EXPECT_THAT(to_text(advice_of({})), AllOf(HasSubstr("No: it takes 3 GB of a GPU, 1.5x of the 2 GB that can be used."),
                                            HasSubstr("5 times as long as with enough memory (2 s)")));
}

// Demand paging was cut off by the budget: a trial of 5 s is neither faster nor slower.
TEST(AdviceRanking, SaysThatAGainIsNotKnownWithoutDemandPaging) {
  Trial trial = gaining("a", 2);
  trial.gain = trial.gain_low = trial.gain_high = 0;
  Advice advice = advice_of({trial});
  advice.now.result.reset();
  EXPECT_THAT(to_text(advice), AllOf(HasSubstr("a  5 s an iteration; what that gains over demand paging is not known"),
                                     Not(HasSubstr("slower"))));
}

TEST(AdviceRanking, NamesWhatWasNotTried) {
  Trial untried = gaining("late", 3);
  untried.tried = false;
  untried.result.reset();
  EXPECT_THAT(to_text(advice_of({untried})), HasSubstr("Not tried in 60 s (--budget)\n  late\n"));
}

std::vector<std::string> names_tried(const Experiment& base, bool fits, const std::vector<std::string>& cards = {}) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates_of(base, fits, {}, cards)) names.push_back(candidate.name);
  return names;
}

std::string on_v100(const std::string& workload) {
  return R"({"machine": {"extends": "machines/v100_sxm2_32gb.json"}, "workload": {)" + workload + "}}";
}

TEST(Candidates, CardsComeFirstAndPlannersOnlyWhereItDoesNotFit) {
  const Experiment base = experiment_of(on_v100(R"("generator": "resnet50", "batch": 32)"));
  EXPECT_EQ(names_tried(base, false, {"t4"}).front(), "t4");
  EXPECT_THAT(names_tried(base, false), AllOf(Contains("chen_sqrt_n"), Contains("dtype fp16"), Contains("batch 16")));
  EXPECT_THAT(names_tried(base, true),
              AllOf(Not(Contains("chen_sqrt_n")), Contains("cudaMalloc"), Contains("batch 64")));
}

// How fast half-precision kernels are is not known of durations that were measured in single precision.
TEST(Candidates, MeasuredDurationsAreNotMadeAgainInOtherNumbers) {
  const Experiment base =
      experiment_of(on_v100(R"("generator": "resnet50", "batch": 32, "calibrate": {"in_core": "300 samples/s"})"));
  EXPECT_THAT(names_tried(base, false), Not(Contains("dtype fp16")));
}

// Volta has no bf16; BERT's scores are written to memory unless attention is fused.
TEST(Candidates, NumbersAreThoseOfTheCard) {
  const Experiment volta = experiment_of(on_v100(R"("generator": "bert_base", "batch": 8)"));
  EXPECT_THAT(names_tried(volta, false), AllOf(Contains("dtype fp16"), Contains("fused attention")));
  const Experiment ampere = experiment_of(
      R"({"machine": {"extends": "machines/a100_40gb.json"}, "workload": {"generator": "bert_base", "batch": 8}})");
  EXPECT_THAT(names_tried(ampere, false), Contains("dtype bf16"));
}

TEST(Candidates, ModuleParametersAreALineForModprobe) {
  const Experiment base = experiment_of(on_v100(R"("generator": "vector_add")"));
  const PolicyFile threshold{
      .name = "t",
      .description = "d",
      .on_hardware = "h",
      .settings = {"driver.uvm_perf_prefetch_threshold=5", "driver.uvm_perf_prefetch_enable=false"}};
  EXPECT_EQ(candidates_of(base, false, {threshold}, {}).front().change,
            "options nvidia-uvm uvm_perf_prefetch_threshold=5 uvm_perf_prefetch_enable=0   (in "
            "/etc/modprobe.d/uvm.conf)");
}

}  // namespace
}  // namespace uvmsim
