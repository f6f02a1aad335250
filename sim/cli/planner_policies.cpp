#include "cli/planner_policies.h"

#include <algorithm>

#include "base/user_error.h"
#include "plan/codec.h"
#include "plan/coordinator.h"
#include "plan/planner.h"

namespace uvmsim {
namespace {

constexpr std::string_view kEveryCoordinator = "+all";

// A row: a planner, with what encodes and what coordinates the copies of its plans.
struct Row {
  std::string name, planner;
  std::vector<std::string> with = {};  // codecs and coordinators
};

// "tmo_like_online+priority", "vdnn+zvc".
Row row_of(const std::string& name) {
  Row row{.name = name, .planner = name.substr(0, name.find('+'))};
  for (std::size_t plus = name.find('+'); plus != std::string::npos;) {
    const std::size_t next = name.find('+', plus + 1);
    row.with.push_back(name.substr(plus + 1, next - plus - 1));
    plus = next;
  }
  return row;
}

bool is_codec(const std::string& name) { return codecs().find(name) != nullptr; }

// Of what is neither: as which of the two it has a near name.
InputError unknown(const std::string& name) {
  return nearest(name, codecs().names()).empty() ? coordinators().unknown("--planners", name)
                                                 : codecs().unknown("--planners", name);
}

std::vector<Row> rows_meant_by(const std::vector<std::string>& names) {
  std::vector<Row> rows;
  if (names == std::vector<std::string>{"all"}) {
    for (const std::string& planner : planners().names()) rows.push_back(row_of(planner));
    return rows;
  }
  std::vector<std::string> each;
  for (const std::string& name : names) {
    if (!name.ends_with(kEveryCoordinator)) {
      each.push_back(name);
      continue;
    }
    const std::string planner = name.substr(0, name.size() - kEveryCoordinator.size());
    for (const std::string& coordinator : coordinators().names())
      each.push_back(coordinator == "none" ? planner : planner + "+" + coordinator);
  }
  std::vector<InputError> errors;
  for (const std::string& name : each) {
    const Row& row = rows.emplace_back(row_of(name));
    if (planners().find(row.planner) == nullptr) errors.push_back(planners().unknown("--planners", row.planner));
    for (const std::string& with : row.with)
      if (!is_codec(with) && coordinators().find(with) == nullptr) errors.push_back(unknown(with));
    if (std::ranges::count(rows, name, &Row::name) > 1)
      errors.push_back({"--planners", "\"" + name + "\" is named twice"});
  }
  if (!errors.empty()) throw UserError("compare", std::move(errors));
  return rows;
}

PolicyFile policy_of(const Row& row, const std::string& memory) {
  const auto& entry = *planners().find(row.planner);
  const bool explicit_memory = memory == "device";
  PolicyFile policy{.name = explicit_memory ? row.name : row.name + ", " + memory,
                    .description = entry.summary,
                    .on_hardware = explicit_memory ? entry.on_hardware
                                                   : "cudaMemPrefetchAsync calls, as `run --plan-out` writes them down",
                    .settings = {"workload.memory=" + memory, "plan.planner=" + row.planner}};
  for (const std::string& with : row.with)
    policy.settings.push_back((is_codec(with) ? "plan.codec=" : "plan.coordinator=") + with);
  return policy;
}

}  // namespace

std::vector<PolicyFile> planner_policies(const std::vector<std::string>& names) {
  std::vector<PolicyFile> policies;
  for (const char* memory : {"device", "managed"})
    for (const Row& row : rows_meant_by(names))
      if (row.with.empty() || std::string_view(memory) == "device") policies.push_back(policy_of(row, memory));
  return policies;
}

}  // namespace uvmsim
