// What plans do, said shortly: of each interval, and all in all.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "plan/plan.h"
#include "plan/plan_json.h"

namespace uvmsim {

// What sets plans apart in a comparison: "swap" what tensors leave the GPU as they are, also on demand; "compress" what
// a codec encodes, there or on its way; "recompute" what kernels make again; "hybrid" two of these.
std::string family_of(std::span<const Plan> plans);

// "move", "move by zvc", "drop", "recompute", "encode by ssdc", "compute on the host".
std::string what_of(const Action& action);

// Actions of a plan that do the same.
struct ActionCount {
  std::int64_t actions = 0;
  std::int64_t bytes = 0;  // of the tensors that they take off the GPU
};
std::map<std::string, ActionCount> action_counts(const Plan& plan);

// A tensor's interval, in a file of plans.
struct ChosenInterval {
  GpuIndex gpu{};
  IterationShape iteration{};
  std::int32_t first_iteration = 0;
  std::int32_t tensor = -1, last_use = -1;
  friend auto operator<=>(const ChosenInterval&, const ChosenInterval&) = default;
};
struct Choice {
  std::string planner;
  std::string what;  // what_of its action
  std::int64_t bytes = 0;
};
// By interval; those that a plan says nothing of stay on the GPU and are not listed.
std::map<ChosenInterval, Choice> choices_of(const PlanFile& file);

// A line for each interval of which two files say different things, e.g. "gpu0 tensor 12 after kernel 4, 1.049 MB: vdnn
// move, dtr recompute"; then one for each pair of what they say, with its intervals and bytes.
std::vector<std::string> choices_diff(const PlanFile& a, const PlanFile& b);

}  // namespace uvmsim
