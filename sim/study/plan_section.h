// The config's "plan" section: the planner, the coordinator and their parameters.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "plan/coordinator.h"
#include "plan/planner.h"

namespace uvmsim {

struct PlanConfig {
  std::string planner;                                        // a name from `uvmsim list planner`; "": none
  std::shared_ptr<Planner> parameters;                        // with its parameters filled in
  std::string device_memory = "counted";                      // or "placed", by the workload's allocator
  std::string codec;                                          // of what is moved, a name from `uvmsim list codec`
  double ratio = 0, sparsity = -1;                            // for codecs; -1: of each tensor its own
  std::string coordinator = "none";                           // a name from `uvmsim list coordinator`
  std::shared_ptr<Coordinator::Factory> coordinator_options;  // of `coordinator`, with its parameters filled in
};

// The zeros of every tensor, where the section says so.
inline std::optional<double> sparsity_of(const PlanConfig& plan) {
  return plan.sparsity < 0 ? std::nullopt : std::optional(plan.sparsity);
}

const Description& describe_plan_section();

// Reads a "plan" section; nothing when there is none. Appends errors as read_described, and for a planner or
// coordinator that is not known.
PlanConfig read_plan_section(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                             ResolvedConfig& resolved);

}  // namespace uvmsim
