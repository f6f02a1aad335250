// Version 1 of plan files: dispositions of intervals instead of actions.
#pragma once

#include <vector>

#include "base/json_document.h"
#include "base/user_error.h"
#include "plan/plan_json.h"

namespace uvmsim {

// Reads a document of version 1 as plans of today: a swap is a Move, a recompute a segment of one tensor. Appends
// errors.
PlanFile read_version_1(const JsonValue& document, std::vector<InputError>& errors);

}  // namespace uvmsim
