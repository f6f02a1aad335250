#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/number_text.h"
#include "report/json_fields.h"
#include "report/report_fields.h"
#include "report/table.h"
#include "report/text.h"
#include "study/compare.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

// What prevented a result; "" when there is one.
template <class Of>  // PolicyResult or MemoryPoint
std::string failure(const Of& of) {
  if (!of.result) return of.error;
  return of.completed() ? "" : of.result->detail;
}

GpuCounts total(const Result& result) { return make_report(result, {}, {}).summary.totals.counts; }

// What tensors under plans held of GPU 0 at most; else what the process had reserved.
std::int64_t peak_of(const Result& result) {
  const auto gpu = std::ranges::find(result.plan.memories, "gpu0", &MemoryPeak::name);
  return gpu == result.plan.memories.end() ? result.reserved_bytes : gpu->bytes;
}

// What an iteration of the slowest GPU takes beside its kernels.
double stall_s(const Result& result) {
  const auto slowest = std::ranges::max_element(result.gpus, {}, &GpuResult::duration_s);
  return slowest == result.gpus.end() ? 0 : slowest->duration_s - slowest->time_split_s.compute_s;
}

std::string ratio(double value) { return number_text(value) + "x"; }

// The smallest memory with which a planner's plan fits; "": nobody asked, "-": none was found.
std::string need_text(const PolicyResult& of) {
  if (!of.need) return "";
  return of.need->need_bytes == 0 ? "-" : bytes_text(of.need->need_bytes);
}

bool is_reference(const PolicyResult& of, const Comparison& comparison) {
  return &of == &comparison.in_core || &of == &comparison.reference();
}

std::vector<std::string> row(const PolicyResult& of, const Comparison& comparison) {
  if (!of.completed()) return {of.policy.name, "failed"};
  const Result& result = *of.result;
  const GpuCounts counts = total(result);
  const auto against = [&](const PolicyResult& reference, bool slowdown) {
    if (!reference.completed()) return std::string("-");
    const double share = reference.result->duration_s / result.duration_s;
    return ratio(slowdown ? 1 / share : share);
  };
  return {of.policy.name,
          seconds_text(result.duration_s),
          of.band ? seconds_text(of.band->low_s) + " to " + seconds_text(of.band->high_s) : "-",
          result.samples > 0 ? number_text(result.samples / result.duration_s) : "-",
          against(comparison.reference(), true),
          is_reference(of, comparison) ? "" : against(comparison.policies.front(), false),
          seconds_text(stall_s(result)),
          bytes_text(peak_of(result)),
          need_text(of),
          count_text(counts.fault_batches),
          bytes_text(counts.h2d_bytes + counts.memcpy_h2d_bytes),
          bytes_text(counts.d2h_bytes + counts.memcpy_d2h_bytes),
          bytes_text(counts.dead_h2d_bytes),
          bytes_text(counts.remote_bytes)};
}

// In the order of the table.
std::vector<const PolicyResult*> in_order(const Comparison& comparison) {
  std::vector<const PolicyResult*> rows;
  for (const PolicyResult& policy : comparison.policies)
    if (policy.exists()) rows.push_back(&policy);
  if (comparison.ranked) std::ranges::stable_sort(rows, {}, &PolicyResult::duration_s);
  return rows;
}

// "Fastest: vdnn, 1.2 s."; "" where the table is not ranked, or nothing completed.
std::string fastest(const Comparison& comparison) {
  const PolicyResult& first = comparison.told_apart_from();
  if (!comparison.ranked || !first.completed()) return "";
  return "Fastest: " + first.policy.name + ", " + seconds_text(first.duration_s()) + ".\n";
}

// Drops the column `title` where all of it is `unused`: remote accesses that nobody made, needs that nobody asked for.
void drop_unused(const std::string& title, const std::string& unused, std::vector<std::vector<std::string>>& rows) {
  const auto column = std::ranges::find(rows.front(), title) - rows.front().begin();
  const auto has = [&](const std::vector<std::string>& row) { return std::ssize(row) > column; };
  const auto used = [&](const std::vector<std::string>& row) {
    return has(row) && row[static_cast<std::size_t>(column)] != unused;
  };
  if (std::any_of(rows.begin() + 1, rows.end(), used)) return;
  for (std::vector<std::string>& row : rows)
    if (has(row)) row.erase(row.begin() + column);
}

// A planner that has no plan for so little memory: the rest of it is reclaimed on demand.
bool on_demand(const PolicyResult& of, Bytes memory) {
  return of.need && (of.need->need_bytes == 0 || of.need->need_bytes > memory.value);
}

// Time by memory: a row per policy, in the order of the table above. "": nobody asked.
std::string by_memory(const Comparison& comparison, const std::vector<const PolicyResult*>& policies) {
  if (comparison.memories.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const Bytes memory : comparison.memories) rows.front().push_back(bytes_text(memory.value));
  bool any_on_demand = false;
  for (const PolicyResult* policy : policies) {
    rows.push_back({policy->policy.name});
    for (std::size_t m = 0; m < comparison.memories.size(); ++m) {
      const MemoryPoint& point = policy->points[m];
      const bool demanded = point.completed() && on_demand(*policy, comparison.memories[m]);
      rows.back().push_back(point.completed() ? seconds_text(point.result->duration_s) + (demanded ? "*" : "") : "-");
      any_on_demand |= demanded;
    }
  }
  return "\nAn iteration by the memory of each GPU; -: it did not complete" +
         std::string(any_on_demand ? "; *: no plan fits, the rest is reclaimed on demand" : "") + "\n" + aligned(rows);
}

// The fastest plan of each family by memory; "": nobody asked, or nothing was planned.
std::string frontier(const Comparison& comparison) {
  const std::vector<FrontierPoint> points = frontier_of(comparison);
  if (points.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{""}};
  std::map<std::string, std::vector<std::string>> by_family;
  for (const Bytes memory : comparison.memories) rows.front().push_back(bytes_text(memory.value));
  for (const FrontierPoint& at : points) {
    std::vector<std::string>& row =
        by_family.try_emplace(at.family, std::vector<std::string>(comparison.memories.size(), "-")).first->second;
    row[at.memory] = at.policy->policy.name + " " + seconds_text(at.point->result->duration_s) +
                     (on_demand(*at.policy, comparison.memories[at.memory]) ? "*" : "") + (at.fastest ? " <" : "");
  }
  for (auto& [family, row] : by_family) {
    rows.push_back({family});
    std::ranges::move(row, std::back_inserter(rows.back()));
  }
  return "\nThe fastest of each kind of plan, by what it does with that memory; <: of all\n" + aligned(rows);
}

// The first two lines of what went wrong: checkers list every fault.
std::string shortened(const std::string& text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  return second == std::string::npos ? text : text.substr(0, second) + " ...";
}

// "There is no "capuchin, managed", ...: no call of managed memory frees what a kernel makes again ...", a line for
// each reason.
std::string not_managed(const Comparison& comparison) {
  std::map<std::string, std::vector<std::string>> names;  // by why
  for (const PolicyResult& policy : comparison.policies)
    if (!policy.exists()) names[policy.result->detail].push_back("\"" + policy.policy.name + "\"");
  std::string text;
  for (const auto& [why, of] : names) text += "There is no " + joined(of) + ": " + why + ".\n";
  return text;
}

// Why the policies may all look alike; "" when they need not.
std::string remark(const Comparison& comparison) {
  if (!comparison.managed) return "workload.memory is \"device\": policies of prefetch and eviction change nothing.\n";
  const PolicyResult& first = comparison.policies.front();  // usually the driver's own
  if (!first.completed()) return "";
  const GpuCounts counts = total(*first.result);
  const bool moves = counts.h2d_bytes > 0 || counts.d2h_bytes > 0 || counts.remote_bytes > 0;
  return moves ? "" : "Everything fits into GPU memory: policies can only cost.\n";
}

// The policies that differ by less than what the difference may be off by; "" when there are none.
std::string too_close(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const PolicyResult& policy : comparison.policies)
    if (policy.completed() && !policy.told_apart) names.push_back(policy.policy.name);
  if (names.empty()) return "";
  return "Too close to " + comparison.told_apart_from().policy.name + " to tell: less than the " +
         percent_text(kBandLevel) + " band of the difference. " + joined(names) + "\n";
}

Json json_of_points(const PolicyResult& of, const Comparison& comparison) {
  Json points = Json::array();
  for (std::size_t m = 0; m < of.points.size(); ++m) {
    const MemoryPoint& point = of.points[m];
    Json object = {{"memory_bytes", comparison.memories[m].value}, {"completed", point.completed()}};
    if (point.completed()) {
      object["duration_s"] = point.result->duration_s;
      if (!point.family().empty()) object["family"] = point.family();
      object["peak_bytes"] = peak_of(*point.result);
    } else {
      object["error"] = failure(point);
    }
    points.push_back(std::move(object));
  }
  return points;
}

Json json_of(const PolicyResult& of, const Comparison& comparison) {
  Json object = {{"policy", of.policy.name},
                 {"description", of.policy.description},
                 {"on_hardware", of.policy.on_hardware},
                 {"set", of.policy.settings}};
  object["completed"] = of.completed();
  if (!of.family().empty()) object["family"] = of.family();
  if (of.need) {
    object["unplanned_bytes"] = of.need->unplanned_bytes;
    object["need_bytes"] = of.need->need_bytes > 0 ? Json(of.need->need_bytes) : Json(nullptr);
  }
  if (!of.points.empty()) object["points"] = json_of_points(of, comparison);
  if (!of.completed()) {
    object["error"] = failure(of);
    return object;
  }
  const Result& result = *of.result;
  const GpuCounts counts = total(result);
  object["duration_s"] = result.duration_s;
  if (of.band) {
    object["duration_low_s"] = of.band->low_s;
    object["duration_high_s"] = of.band->high_s;
  }
  if (result.samples > 0) {
    object["throughput"] = result.samples / result.duration_s;
    object["throughput_unit"] = result.sample_unit + "/s";
  }
  if (const PolicyResult& reference = comparison.reference(); reference.completed())
    object["slowdown"] = result.duration_s / reference.result->duration_s;
  if (comparison.policies.front().completed())
    object["speedup"] = comparison.policies.front().result->duration_s / result.duration_s;
  if (!is_reference(of, comparison) && &of != &comparison.told_apart_from()) {
    object["speedup_spread"] = of.speedup_spread;
    object["told_apart"] = of.told_apart;
  }
  object["stall_s"] = stall_s(result);
  object["peak_bytes"] = peak_of(result);
  object["fault_batches"] = counts.fault_batches;
  object["fault_groups"] = counts.fault_groups;
  object["fault_entries"] = counts.fault_entries;
  object["h2d_bytes"] = counts.h2d_bytes;
  object["d2h_bytes"] = counts.d2h_bytes;
  object["memcpy_h2d_bytes"] = counts.memcpy_h2d_bytes;
  object["memcpy_d2h_bytes"] = counts.memcpy_d2h_bytes;
  object["dead_h2d_bytes"] = counts.dead_h2d_bytes;
  object["evicted_bytes"] = counts.evicted_bytes;
  object["prefetched_bytes"] = counts.prefetched_bytes;
  object["remote_bytes"] = counts.remote_bytes;
  return object;
}

}  // namespace

std::string to_text(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  const std::string unit =
      comparison.in_core.result ? comparison.in_core.result->sample_unit + "/s" : std::string("samples/s");
  rows.push_back({"", "iteration", percent_text(kBandLevel) + " band", unit, "slowdown", "speed-up", "stall", "peak",
                  "least memory", "fault batches", "in", "out", "dead, in", "remote"});
  if (comparison.cuda_malloc) rows.push_back(row(*comparison.cuda_malloc, comparison));
  rows.push_back(row(comparison.in_core, comparison));
  const std::vector<const PolicyResult*> policies = in_order(comparison);
  for (const PolicyResult* policy : policies) rows.push_back(row(*policy, comparison));
  drop_unused("remote", bytes_text(0.0), rows);
  drop_unused("least memory", "", rows);
  std::string text = comparison.experiment + "\n";
  if (!comparison.description.empty()) text += "  " + comparison.description + "\n";
  text += setup_text(comparison.setup);
  text += "\n" + aligned(rows);
  const auto add_failure = [&](const PolicyResult& of) {
    if (of.exists() && !of.completed()) text += "  " + of.policy.name + " failed: " + shortened(failure(of)) + "\n";
  };
  if (comparison.cuda_malloc) add_failure(*comparison.cuda_malloc);
  add_failure(comparison.in_core);
  for (const PolicyResult& policy : comparison.policies) add_failure(policy);
  text += "\nPer iteration, all GPUs together. slowdown: against " + comparison.reference().policy.name +
          "; speed-up: against " + comparison.policies.front().policy.name +
          "; stall: what an iteration of the slowest GPU takes beside its kernels.\n";
  if (comparison.cuda_malloc)
    text +=
        "cuda_malloc: the same program without managed memory, on GPUs that are large enough; in_core: with managed "
        "memory on those.\n";
  if (std::ranges::any_of(comparison.policies, [](const PolicyResult& p) { return p.need.has_value(); }))
    text += "least memory: of each GPU, with which the plan fits, within 1 % of what an iteration holds without one.\n";
  text += not_managed(comparison) + fastest(comparison) + too_close(comparison) + remark(comparison) +
          by_memory(comparison, policies) + frontier(comparison) + "\nWhat it takes on hardware\n";
  std::size_t width = 0;
  for (const PolicyResult& policy : comparison.policies) width = std::max(width, policy.policy.name.size());
  for (const PolicyResult& policy : comparison.policies)
    if (policy.exists())
      text += "  " + policy.policy.name + std::string(width - policy.policy.name.size() + 2, ' ') +
              policy.policy.on_hardware + "\n";
  return text;
}

std::string to_json(const Comparison& comparison) {
  Json object = {{"experiment", comparison.experiment},
                 {"description", comparison.description},
                 {"settings", comparison.setup.overrides},
                 {"setup", json_of(comparison.setup)}};
  if (comparison.cuda_malloc) object["cuda_malloc"] = json_of(*comparison.cuda_malloc, comparison);
  object["in_core"] = json_of(comparison.in_core, comparison);
  object["policies"] = Json::array();
  for (const PolicyResult& policy : comparison.policies) object["policies"].push_back(json_of(policy, comparison));
  for (const FrontierPoint& at : frontier_of(comparison))
    object["frontier"].push_back({{"memory_bytes", comparison.memories[at.memory].value},
                                  {"family", at.family},
                                  {"policy", at.policy->policy.name},
                                  {"duration_s", at.point->result->duration_s},
                                  {"fastest", at.fastest}});
  return object.dump(2) + "\n";
}

}  // namespace uvmsim
