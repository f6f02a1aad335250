#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/report_fields.h"
#include "support/golden_file.h"
#include "support/sample_result.h"

namespace uvmsim {
namespace {

using test::sample_result;

nlohmann::json report_json(const Result& result, const References& references) {
  return nlohmann::json::parse(to_json(make_report(result, references, {.version = "1.2.3"})));
}

// 16 samples in 8 s are 2 samples/s; with cudaMalloc 16 in 2 s are 8 samples/s; 8 s / 2 s = 4 times as slow, and
// 8 s / 2.5 s = 3.2 times as slow as in core.
TEST(ReportJson, RatesAreComputedFromCounts) {
  Result cuda_malloc = sample_result(), in_core = sample_result();
  cuda_malloc.duration_s = 2;
  in_core.duration_s = 2.5;
  const nlohmann::json summary =
      report_json(sample_result(), {.cuda_malloc = &cuda_malloc, .in_core = &in_core})["summary"];
  EXPECT_EQ(summary["duration_s"], 8.0);
  EXPECT_EQ(summary["cuda_malloc_duration_s"], 2.0);
  EXPECT_EQ(summary["slowdown"], 4.0);
  EXPECT_EQ(summary["in_core_duration_s"], 2.5);
  EXPECT_EQ(summary["in_core_slowdown"], 3.2);
  EXPECT_EQ(summary["throughput"]["value"], 2.0);
  EXPECT_EQ(summary["throughput"]["unit"], "samples/s");
  EXPECT_EQ(summary["cuda_malloc_throughput"]["value"], 8.0);
}

TEST(ReportJson, WithoutSamplesIterationsAreCounted) {
  Result result = sample_result();
  result.samples = 0;
  const nlohmann::json throughput = report_json(result, {})["summary"]["throughput"];
  EXPECT_EQ(throughput["value"], 0.125);  // 1 / 8 s
  EXPECT_EQ(throughput["unit"], "iterations/s");
}

TEST(ReportJson, WhatCannotBeDividedIsNull) {
  Result result = sample_result();
  result.outcome = Outcome::OutOfMemory;
  result.detail = "tensor 7 of 1 GiB";
  const nlohmann::json report = report_json(result, {});
  EXPECT_EQ(report["outcome"], "out_of_memory");
  EXPECT_EQ(report["detail"], "tensor 7 of 1 GiB");
  for (const char* key : {"throughput", "slowdown", "cuda_malloc_duration_s", "cuda_malloc_throughput",
                          "in_core_duration_s", "in_core_slowdown"})
    EXPECT_TRUE(report["summary"][key].is_null()) << key;
}

TEST(ReportJson, CountsOfAGpuStandBesideItsDuration) {
  const nlohmann::json gpu = report_json(sample_result(), {})["summary"]["gpus"][1];
  EXPECT_EQ(gpu["name"], "gpu1");
  EXPECT_EQ(gpu["duration_s"], 8.0);
  EXPECT_EQ(gpu["fault_groups"], 20);
  EXPECT_EQ(gpu["time_split_s"]["compute_s"], 4.0);
}

// fault_groups 10 + 20, and 6 s + 8 s of GPU time of which 2 s + 4 s compute.
TEST(ReportJson, TotalsAddUpTheGpus) {
  const nlohmann::json totals = report_json(sample_result(), {})["summary"]["totals"];
  EXPECT_EQ(totals["fault_groups"], 30);
  EXPECT_EQ(totals["gpu_s"], 14.0);
  EXPECT_EQ(totals["time_split_s"]["compute_s"], 6.0);
}

TEST(ReportJson, KeysKeepTheirOrder) {
  const std::string json = to_json(make_report(sample_result(), {}, {}));
  std::size_t at = 0;
  for (const char* key : {"\"outcome\"", "\"summary\"", "\"gpus\"", "\"links\"", "\"run\"", "\"host\""}) {
    const std::size_t found = json.find(key, at);
    ASSERT_NE(found, std::string::npos) << key;
    at = found;
  }
}

TEST(ReportJson, OnlyTheHostRecordVaries) {
  const auto without_host = [](double wall_s) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(
        to_json(make_report(sample_result(), {}, {.host = {.wall_s = wall_s, .peak_rss_bytes = 5}})));
    EXPECT_EQ(json["run"]["host"]["wall_s"], wall_s);
    json["run"].erase("host");
    return json.dump();
  };
  EXPECT_EQ(without_host(1.5), without_host(2.5));
}

// 0.1 has no exact double; 1e-300 and 2^64 - 1 test the ends of the formats.
TEST(ResultJson, ReadsBackWhatItWrote) {
  Result result = sample_result();
  result.gpus[0].iteration_s = {0.1, 1e-300, 123456789.123456789};
  result.history_hash = ~std::uint64_t{0};
  result.outcome = Outcome::Deadlock;
  result.detail = "gpu0 \"waits\"\nfor gpu1";
  const std::string text = to_json(result);
  const std::optional<Result> back = result_from_json(text);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->gpus[0].iteration_s, result.gpus[0].iteration_s);
  EXPECT_EQ(back->history_hash, result.history_hash);
  EXPECT_EQ(back->outcome, Outcome::Deadlock);
  EXPECT_EQ(to_json(*back), text);
}

TEST(ResultJson, RefusesWhatIsNoResult) {
  const std::string text = to_json(sample_result());
  EXPECT_FALSE(result_from_json(""));
  EXPECT_FALSE(result_from_json("{}"));
  EXPECT_FALSE(result_from_json(text.substr(0, text.size() / 2)));
}

// The page is generated; it changes with the lists. UVMSIM_UPDATE_GOLDEN=1 in the environment rewrites it.
TEST(ReportDocumentation, CommittedPageIsUpToDate) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/sim/report/RESULT.md";
  EXPECT_EQ(test::golden_file(path, report_documentation()), report_documentation());
}

TEST(ReportDocumentation, EveryKeyHasAMeaning) {
  EXPECT_THAT(report_documentation(), testing::Not(testing::HasSubstr("|  |\n")));
}

}  // namespace
}  // namespace uvmsim
