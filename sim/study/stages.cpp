#include "study/stages.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "memory/allocator.h"
#include "metrics/result_fields.h"
#include "report/json.h"
#include "report/table.h"
#include "study/child_process.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

constexpr double kBarWidth = 40;
constexpr std::size_t kCurvePoints = 12;

std::vector<Result> results_of(const Stage& stage) {
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (const Experiment& experiment : stage.runs)
    children.push_back(std::make_unique<ChildProcess>([&] { return to_json(run_experiment(experiment)); }));
  std::vector<Result> results;
  for (const auto& child : children) results.push_back(handed_over(*child));
  return results;
}

// What each GPU's allocator held at most. A process for all GPUs has an allocator on each that it uses.
std::int64_t reserved_on(std::size_t gpu, const Experiment& experiment, const Result& result) {
  if (experiment.workload.data_parallel) return result.reserved_bytes;
  const auto device = std::ranges::find(result.allocators, static_cast<int>(gpu), &DeviceAllocator::device);
  return device == result.allocators.end() ? 0 : device->peak.reserved_bytes;
}

void add_curve(const Stage& stage, StageResult& out) {
  const auto gpu = static_cast<std::size_t>(std::ranges::max_element(out.reserved_bytes) - out.reserved_bytes.begin());
  const Experiment& experiment = stage.runs[stage.run_of[gpu]];
  if (!experiment.plan.planner.empty()) return;
  std::vector<PoolSample> history;
  const Program program = place(make_trace(experiment), placement_of(experiment), &history);
  if (program.out_of_memory) out.out_of_memory = std::ssize(history) + 1;
  out.curve = pool_points(history, experiment.workload.data_parallel ? 0 : static_cast<int>(gpu), kCurvePoints);
}

StageResult result_of(const Stage& stage) {
  const PlacementOptions& placement = stage.runs.front().workload.placement;
  StageResult out{.name = stage.name,
                  .allocator = placement.allocator,
                  .memory = placement.memory,
                  .repeats = stage.repeats,
                  .detail = {},
                  .reserved_bytes = {},
                  .curve = {}};
  const std::vector<Result> results = results_of(stage);
  for (std::size_t gpu = 0; gpu < stage.run_of.size(); ++gpu) {
    const Result& own = results[stage.run_of[gpu]];
    out.reserved_bytes.push_back(reserved_on(gpu, stage.runs[stage.run_of[gpu]], own));
    if (out.outcome == Outcome::Completed && own.outcome != Outcome::Completed)
      out.outcome = own.outcome, out.detail = own.detail;
    if (gpu < own.gpus.size())
      out.duration_s = std::max(out.duration_s, own.gpus[gpu].duration_s * static_cast<double>(stage.repeats));
  }
  if (out.outcome != Outcome::Completed) out.duration_s = 0;
  add_curve(stage, out);
  return out;
}

// From the left: as wide as the longest.
std::string bar(double share) {
  std::string text(static_cast<std::size_t>(std::lround(kBarWidth * share)), '#');
  text.resize(static_cast<std::size_t>(kBarWidth), ' ');
  return text;
}

// The same of memory: | where the card's ends, and as wide as that or the most.
std::string memory_bar(std::int64_t bytes, std::int64_t most, Bytes memory) {
  const auto all = static_cast<double>(std::max(most, memory.value));
  std::string text = bar(static_cast<double>(bytes) / all);
  text[std::min(text.size() - 1, static_cast<std::size_t>(kBarWidth * static_cast<double>(memory.value) / all))] = '|';
  return text;
}

std::string share_of(std::int64_t bytes, Bytes memory) {
  return percent_text(static_cast<double>(bytes) / static_cast<double>(memory.value));
}

nlohmann::ordered_json json_of(const StageResult& stage) {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  for (const PoolPoint& point : stage.curve)
    curve.push_back({{"event", point.event}, {"used_bytes", point.used_bytes}, {"pool_bytes", point.pool_bytes}});
  return {{"name", stage.name},
          {"allocator", stage.allocator},
          {"memory", stage.memory},
          {"repeats", stage.repeats},
          {"outcome", std::string(name_of(stage.outcome))},
          {"detail", stage.detail},
          {"duration_s", stage.duration_s},
          {"reserved_bytes", stage.reserved_bytes},
          {"curve", std::move(curve)},
          {"out_of_memory_event",
           stage.out_of_memory > 0 ? nlohmann::ordered_json(stage.out_of_memory) : nlohmann::ordered_json()}};
}

}  // namespace

StagesReport run_stages(const std::vector<Stage>& stages) {
  const GpuSpec& gpu = stages.front().runs.front().machine.gpus.front();
  StagesReport report{.memory = gpu.memory, .usable_memory = gpu.usable_memory, .stages = {}};
  for (const Stage& stage : stages) report.stages.push_back(result_of(stage));
  return report;
}

std::string to_text(const StagesReport& report) {
  double total_s = 0;
  for (const StageResult& stage : report.stages) total_s += stage.duration_s;
  std::vector<std::vector<std::string>> rows = {{"stage", "allocator", "memory", "time", ""}};
  for (const StageResult& stage : report.stages)
    rows.push_back(
        {stage.name, stage.allocator, stage.memory,
         stage.outcome == Outcome::Completed ? seconds_text(stage.duration_s) : std::string(name_of(stage.outcome)),
         bar(stage.duration_s / std::max(total_s, 1e-12))});
  rows.push_back({"in all", "", "", seconds_text(total_s)});
  std::string text = aligned(rows) + "\nMost memory asked of each GPU, of " + bytes_text(report.usable_memory.value) +
                     " usable and " + bytes_text(report.memory.value) + " of the card\n";
  std::int64_t most_of_all = 0;
  for (const StageResult& stage : report.stages)
    most_of_all = std::max(most_of_all, std::ranges::max(stage.reserved_bytes));
  rows = {{"", "most", "of the card", "in", ""}};
  for (std::size_t gpu = 0; gpu < report.stages.front().reserved_bytes.size(); ++gpu) {
    const StageResult& stage =
        std::ranges::max(report.stages, {}, [&](const StageResult& s) { return s.reserved_bytes[gpu]; });
    const std::int64_t asked = stage.reserved_bytes[gpu];
    rows.push_back({"gpu" + std::to_string(gpu), bytes_text(asked), share_of(asked, report.memory),
                    asked > 0 ? stage.name : "", memory_bar(asked, most_of_all, report.memory)});
  }
  text += aligned(rows);
  for (const StageResult& stage : report.stages)
    if (!stage.curve.empty())
      text += "\n" + stage.name + ": used (#) and held (.) by allocator " + stage.allocator + ", " + stage.memory +
              " memory, on the GPU with the most\n" + pool_curve(stage.curve, stage.out_of_memory);
  for (const StageResult& stage : report.stages)
    if (stage.outcome != Outcome::Completed) text += wrapped(stage.name + ": " + stage.detail, "  ", 98);
  return text;
}

std::string to_json(const StagesReport& report) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const StageResult& stage : report.stages) stages.push_back(json_of(stage));
  const nlohmann::ordered_json all = {{"memory_bytes", report.memory.value},
                                      {"usable_memory_bytes", report.usable_memory.value},
                                      {"stages", std::move(stages)}};
  return all.dump(1) + "\n";
}

}  // namespace uvmsim
