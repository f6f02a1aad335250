// What observers are told about whole runs, held to the counts of the same runs.
#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "observe/observations.h"
#include "observe/timeline.h"
#include "report/observations_json.h"
#include "support/simulated.h"

namespace uvmsim {
namespace {

using testing_support::experiment_of;

// c = a + b by one thread over 3 x 128 MiB that the host wrote, on a GPU of 64 MiB: it swaps.
std::string swapping() {
  return R"({"machine": {"extends": "machines/v100_sxm2_16gb.json", "gpu": {"usable_memory": "64 MiB"}},
    "driver": {"version": "418.40"},
    "workload": {"generator": "vector_add", "mode": "thread", "cpu_init": true, "allocator": "none", "memory": "managed"},
    "run": {"warmup": 0, "iterations": 1}})";
}

struct ObservedRun {
  nlohmann::json plain, watched;  // results without and with observers, less what the machine decides
  nlohmann::json found;           // by the timeline
  nlohmann::json observations;
};

nlohmann::json sums_of(const Timeline& timeline) {
  nlohmann::json found = {{"overlaps", 0}};
  for (const TimelineRow& row : timeline.rows()) {
    nlohmann::json& sum = found[row.name];
    sum = {{"slices", row.slices.size()}, {"bytes", 0}, {"busy_s", 0.0}};
    Time end{};
    for (const TimelineSlice& slice : row.slices) {
      if (slice.begin < end) found["overlaps"] = found["overlaps"].get<int>() + 1;
      end = slice.end;
      sum["bytes"] = sum["bytes"].get<std::int64_t>() + slice.bytes;
      sum["busy_s"] = sum["busy_s"].get<double>() + seconds(slice.busy);
    }
  }
  return found;
}

Report report_of(const Experiment& experiment, Timeline* timeline, Observations* observations) {
  SimulationOptions options{.references = false};
  options.timeline = timeline;
  options.observations = observations;
  return simulate(experiment, options);
}

nlohmann::json comparable(const Report& report) {
  nlohmann::json json = nlohmann::json::parse(to_json(report));
  json["run"].erase("host");
  return json;
}

ObservedRun observed(const std::string& config, const TimelineOptions& options = {}) {
  const Experiment experiment = experiment_of(config);
  ChildProcess plain([&] { return comparable(report_of(experiment, nullptr, nullptr)).dump(); });
  ChildProcess watched([&] {
    Timeline timeline(options);
    Observations observations;
    const Report report = report_of(experiment, &timeline, &observations);
    return nlohmann::json{{"result", comparable(report)},
                          {"found", sums_of(timeline)},
                          {"observations", nlohmann::json::parse(to_json(observations))}}
        .dump();
  });
  const auto without = nlohmann::json::parse(plain.wait()), with = nlohmann::json::parse(watched.wait());
  return {without, with["result"], with["found"], with["observations"]};
}

TEST(ObservedRun, GivesTheSameResultAsAnUnobservedOne) {
  const ObservedRun run = observed(swapping());
  EXPECT_EQ(run.plain, run.watched);
}

TEST(ObservedRun, RowsOfTheTimelineAddUpToTheCounts) {
  const ObservedRun run = observed(swapping());
  const nlohmann::json& totals = run.plain["summary"]["totals"];
  EXPECT_EQ(run.found["overlaps"], 0);
  EXPECT_EQ(run.found["copy engine, host to device"]["bytes"], totals["h2d_bytes"]);
  EXPECT_EQ(run.found["copy engine, device to host"]["bytes"], totals["d2h_bytes"]);
  EXPECT_EQ(run.found["evictions"]["bytes"], totals["evicted_bytes"]);
  EXPECT_EQ(run.found["evictions"]["slices"], totals["evicted_chunks"]);
  // A batch is serviced, waits for copies, and is replayed: two slices at least, three at most.
  EXPECT_GE(run.found["fault servicer"]["slices"], 2 * totals["fault_batches"].get<std::int64_t>());
  EXPECT_LE(run.found["fault servicer"]["slices"], 3 * totals["fault_batches"].get<std::int64_t>());
}

// However few slices may be kept, sums stay.
TEST(ObservedRun, MergingChangesNoSum) {
  const ObservedRun all = observed(swapping()), few = observed(swapping(), {.most_slices = 300});
  for (const char* row : {"copy engine, host to device", "copy engine, device to host"}) {
    EXPECT_EQ(all.found[row]["bytes"], few.found[row]["bytes"]);
    EXPECT_NEAR(all.found[row]["busy_s"], few.found[row]["busy_s"], 1e-9);
    EXPECT_LE(few.found[row]["slices"], 300);
  }
}

double area(const nlohmann::json& series, double step, double end) {
  double sum = 0, at = 0;
  for (const auto& mean : series["mean"]) {
    sum += mean.get<double>() * std::min(step, end - at);
    at += step;
  }
  return sum;
}

// The area under a rate is its count; five significant digits are written, so to 1e-4.
TEST(ObservedRun, SeriesHaveTheCountsAsTheirArea) {
  const ObservedRun run = observed(swapping());
  const nlohmann::json& totals = run.plain["summary"]["totals"];
  const nlohmann::json& gpu = run.observations["gpus"][0];
  const double step = run.observations["step_s"], end = run.observations["end_s"];
  const auto expect = [&](const char* series, const char* total) {
    const double count = totals[total];
    EXPECT_NEAR(area(gpu[series], step, end), count, count * 1e-4) << series;
  };
  expect("bytes_in_per_s", "h2d_bytes");
  expect("bytes_out_per_s", "d2h_bytes");
  expect("fault_entries_per_s", "fault_entries");
  expect("batches_per_s", "fault_batches");
  expect("evicted_bytes_per_s", "evicted_bytes");
  double resident = 0;
  for (const auto& peak : gpu["resident_bytes"]["peak"]) resident = std::max(resident, peak.get<double>());
  EXPECT_NEAR(resident, 64 << 20, (64 << 20) * 1e-4);  // the whole GPU
}

// Of one kernel: its parts are the time split of the run. All faults are on a, b or c, and the time of all batches is
// the time that their tensors stalled.
TEST(ObservedRun, StallsAddUpToTheTimeSplit) {
  const ObservedRun run = observed(swapping());
  const nlohmann::json& split = run.plain["summary"]["totals"]["time_split_s"];
  const nlohmann::json& kernels = run.observations["kernels"];
  ASSERT_EQ(kernels.size(), 1U);
  for (const char* part : {"fault_cpu_s", "eviction_s", "copy_in_s", "link_wait_s", "compute_s"})
    EXPECT_NEAR(kernels[0][part], split[part], 1e-4 * split[part].get<double>() + 1e-9) << part;
  std::int64_t faults = 0;
  for (const auto& tensor : run.observations["tensors"]) faults += tensor["faults"].get<std::int64_t>();
  EXPECT_EQ(faults, run.plain["summary"]["totals"]["fault_entries"]);
}

}  // namespace
}  // namespace uvmsim
