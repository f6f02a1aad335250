// Plans as JSON. sim/plan/PLAN.md describes it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace uvmsim {

// Plans of one job.
struct PlanFile {
  std::string workload;     // the trace's name; for readers
  std::vector<Plan> plans;  // by (gpu, iteration)
};

// One disposition and one call a line; ends in a newline. Same plans, same bytes.
std::string to_json(const PlanFile& file);

// Reads what to_json writes. `file` names the text in faults. UserError with every fault found: its place, what was
// expected, and the nearest known word for one that is not known.
PlanFile read_plans(std::string_view text, const std::string& file);

// Where two files differ, one line per plan, disposition and call, "-" for the first and "+" for the second; empty:
// nowhere.
std::vector<std::string> diff(const PlanFile& a, const PlanFile& b);

}  // namespace uvmsim
