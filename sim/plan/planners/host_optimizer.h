// Work of kernels on the CPU: what ZeRO-Offload, ZeRO-Infinity and moDNN share.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/profile.h"

namespace uvmsim {

struct HostOptimizerOptions {
  int cores = 16;
  std::string state = {};       // memory node of what the optimizer alone uses; "": the nearest host memory
  std::string parameters = {};  // of what the GPU uses, too: parameters and gradients
};

struct HostOptimizer {
  std::vector<Action> actions{};
  std::set<std::int32_t> tensors{};  // that they move
  std::int64_t groups = 0;           // of kernels, one for each parameter where kernels update one each
  std::int64_t state = 0;            // bytes that only the optimizer uses
  std::int64_t out = 0, in = 0;      // bytes that are copied in an iteration
};

// Has the CPU do the work of the optimizer's kernels, a group of them at a time that shares operands: gradients, and
// parameters as they were, leave after their last use by the GPU, so during the backward pass; a group starts when the
// GPU comes to it and its operands are there; parameters come back when it is done; state that nothing else uses stays
// where it is. Groups that have an operand which the program frees before the iteration ends without having made it, or
// which begin the iteration, stay on the GPU.
HostOptimizer optimizer_on_host(const Profile& profile, const HostOptimizerOptions& options);

// The same of the kernels that `takes`.
HostOptimizer on_host(const Profile& profile, const HostOptimizerOptions& options,
                      const std::function<bool(std::int32_t kernel)>& takes);

}  // namespace uvmsim
