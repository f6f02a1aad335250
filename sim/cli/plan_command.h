#pragma once

#include <string>

#include "cli/program.h"
#include "cli/verb.h"
#include "plan/plan_json.h"

namespace uvmsim {

// uvmsim plan CONFIG -o FILE: writes the plans of the experiment's planner. uvmsim plan diff A B: compares two files.
void add_plan_command(Verb app, Console& console);

// The plans in the file at `path`. UserError when it cannot be read.
PlanFile read_plan_file(const std::string& path);

}  // namespace uvmsim
