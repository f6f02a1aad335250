#include "cli/planner_policies.h"

#include <algorithm>

#include "base/user_error.h"
#include "plan/planner.h"

namespace uvmsim {
namespace {

std::vector<std::string> names_meant_by(const std::vector<std::string>& names) {
  const std::vector<std::string> known = planners().names();
  if (names == std::vector<std::string>{"all"}) return known;
  std::vector<std::string> meant;
  std::vector<InputError> errors;
  for (const std::string& name : names) {
    if (planners().find(name) == nullptr) errors.push_back(planners().unknown("--planners", name));
    if (std::ranges::find(meant, name) != meant.end())
      errors.push_back({"--planners", "\"" + name + "\" stands here twice"});
    meant.push_back(name);
  }
  if (!errors.empty()) throw UserError("compare", std::move(errors));
  return meant;
}

PolicyFile policy_of(const std::string& planner, const std::string& memory) {
  const auto& entry = *planners().find(planner);
  const bool explicit_memory = memory == "device";
  return {.name = explicit_memory ? planner : planner + ", " + memory,
          .description = entry.summary,
          .on_hardware = !entry.on_hardware.empty() ? entry.on_hardware
                         : explicit_memory          ? "copies by the framework, as `run --plan-out` writes them down"
                                           : "cudaMemPrefetchAsync calls, as `run --plan-out` writes them down",
          .settings = {"workload.memory=" + memory, "plan.planner=" + planner}};
}

}  // namespace

std::vector<PolicyFile> planner_policies(const std::vector<std::string>& names) {
  std::vector<PolicyFile> policies;
  for (const char* memory : {"device", "managed"})
    for (const std::string& name : names_meant_by(names)) policies.push_back(policy_of(name, memory));
  return policies;
}

}  // namespace uvmsim
