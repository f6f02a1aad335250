// Plans by Checkmate's program on groups of layers: what `checkmate` and `poet` share.
#pragma once

#include <string>

#include "plan/planner.h"

namespace uvmsim {

struct CheckmateOptions {
  int groups = 24;
  Duration time_limit = from_seconds(30);
  double gap = 0.01;
  std::string method = "optimal";
  Bytes min_bytes{1 << 20};

  static const Description& description();
};

// One plan per profile in the name of `planner`. With `pages` results may go to host memory, too.
//
// What the forward pass makes are the program's nodes: kernels of the backward pass run once. What a stage makes stays
// till its end, where the paper frees it inside: a plan drops tensors between kernels of the program. What the program
// leaves out, results that are made on the way and freed, is seen when the plan is proved; then it is solved again for
// less memory. The solver begins with the best of the rounded relaxation and of nodes at equal distances, which is what
// is left without a solution in time.
std::vector<Plan> checkmate_plans(std::span<const Profile> gpus, const CheckmateOptions& options,
                                  const std::string& planner, bool pages, PlanServices& services);

}  // namespace uvmsim
