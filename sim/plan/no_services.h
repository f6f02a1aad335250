// For planners that are called where there is no solver and nothing to simulate on.
#pragma once

#include "plan/planner.h"

namespace uvmsim {

// Has no solver; every simulated set of plans comes to nothing (Evaluation's defaults).
class NoServices : public PlanServices {
 public:
  std::optional<MipSolution> solve(const MipModel&, const MipLimits&,
                                   const std::vector<std::pair<std::size_t, bool>>&) override {
    return std::nullopt;
  }
  std::vector<Evaluation> evaluate(std::span<const std::vector<Plan>> sets) override {
    return std::vector<Evaluation>(sets.size());
  }
};

}  // namespace uvmsim
