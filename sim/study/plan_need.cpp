#include "study/plan_need.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "base/user_error.h"
#include "study/integer_parameter.h"
#include "study/planning.h"
#include "study/simulate.h"

namespace uvmsim {
std::int64_t unplanned_bytes(const Experiment& experiment, const trace::Trace& trace) {
  std::int64_t most = 0;
  for (const std::vector<Profile>& group : profiles_of(experiment, trace))
    for (const Profile& profile : group) most = std::max(most, profile.peak());
  return most;
}

double flops_of_an_iteration(const trace::Trace& trace) {
  double flops = 0;
  for (const trace::Record& record : trace.records) {
    if (std::holds_alternative<trace::Iteration>(record)) flops = 0;
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) flops += kernel->flops;
  }
  return flops;
}

double allocated_in_an_iteration(const trace::Trace& trace) {
  double bytes = 0;
  for (const trace::Record& record : trace.records) {
    if (std::holds_alternative<trace::Iteration>(record)) bytes = 0;
    if (const auto* alloc = std::get_if<trace::Alloc>(&record)) bytes += static_cast<double>(alloc->bytes);
  }
  return bytes;
}

Experiment with_memory(const Experiment& experiment, Bytes memory) {
  Experiment other;
  other.name = experiment.name;
  other.machine = experiment.machine;
  other.workload.placement = experiment.workload.placement;
  other.workload.calls = experiment.workload.calls;
  other.workload.data_parallel = experiment.workload.data_parallel;
  other.run = experiment.run;
  other.plan = experiment.plan;
  other.resolved = experiment.resolved;
  for (GpuSpec& gpu : other.machine.gpus) {
    gpu.usable_memory = memory;
    gpu.memory = std::max(gpu.memory, memory);
  }
  return other;
}

PlanNeed plan_need(const Experiment& experiment, const trace::Trace& trace) {
  PlanNeed found;
  found.unplanned_bytes = unplanned_bytes(experiment, trace);
  const std::int64_t step =
      std::max(kLeastNeedStep.value, static_cast<std::int64_t>(kNeedStep * static_cast<double>(found.unplanned_bytes)));
  const auto fits = [&](std::int64_t steps) {
    Experiment other = with_memory(experiment, Bytes{steps * step});
    other.workload.placement.memory = "device";
    return plans_fit(other, trace);
  };
  const std::int64_t whole = (found.unplanned_bytes + step - 1) / step;
  std::vector<std::int64_t> starts;
  for (const std::int64_t quarters : {4, 3, 2, 1, 8}) starts.push_back(std::max<std::int64_t>(1, whole * quarters / 4));
  const auto start = std::ranges::find_if(starts, fits);
  if (start == starts.end()) return found;
  std::int64_t high = *start, low = high > whole ? whole : 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  found.need_bytes = high * step;
  return found;
}

LargestValue largest_that_fits(const Experiment& experiment, const std::string& parameter) {
  IntegerParameter value(experiment.workload.parameters.get(), parameter);
  if (!value.exists())
    throw UserError(experiment.name, {{"/workload", "the generator has no whole number \"" + parameter + "\""}});
  const auto trace = [&] { return make_trace(experiment); };
  const Bytes budget = std::ranges::min(experiment.machine.gpus, {}, &GpuSpec::usable_memory).usable_memory;
  LargestValue largest{.parameter = parameter};
  largest.unplanned = largest_value(value, value.given(), [&](std::int64_t v) {
    return value.set(v) && unplanned_bytes(experiment, trace()) <= budget.value;
  });
  largest.planned = largest_value(value, std::max(largest.unplanned, value.smallest()),
                                  [&](std::int64_t v) { return value.set(v) && plans_fit(experiment, trace()); });
  return largest;
}

std::string to_text(const PlanNeed& need, const Experiment& experiment) {
  std::string text = experiment.name + "\n  without a plan an iteration holds " + bytes_text(need.unplanned_bytes);
  text += need.need_bytes == 0
              ? "\n  " + experiment.plan.planner + " has no plan that fits, even into twice as much\n"
              : "\n  a plan of " + experiment.plan.planner + " fits into " + bytes_text(need.need_bytes) + ", " +
                    percent_text(static_cast<double>(need.need_bytes) / static_cast<double>(need.unplanned_bytes)) +
                    " of it\n";
  for (const LargestValue& of : need.largest)
    text += "  the largest " + of.parameter + " that fits the machine: " + std::to_string(of.unplanned) +
            " without a plan, " + std::to_string(of.planned) + " with it\n";
  return text;
}

std::string to_json(const PlanNeed& need, const Experiment& experiment) {
  nlohmann::ordered_json largest = nlohmann::ordered_json::array();
  for (const LargestValue& of : need.largest)
    largest.push_back({{"parameter", of.parameter}, {"unplanned", of.unplanned}, {"planned", of.planned}});
  nlohmann::ordered_json json = {{"experiment", experiment.name},
                                 {"planner", experiment.plan.planner},
                                 {"unplanned_bytes", need.unplanned_bytes},
                                 {"need_bytes", nullptr},
                                 {"largest", std::move(largest)}};
  if (need.need_bytes > 0) json["need_bytes"] = need.need_bytes;
  return json.dump(1) + "\n";
}

}  // namespace uvmsim
