// CBC (coinor-cbc) as a child process.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/mip_model.h"

namespace uvmsim {

// Solves `model` with the program `cbc` of the search path in a temporary folder, done_once (shared_work.h); one
// thread. `start`: values of some binaries to begin with. nullopt: there is no such program. A solution depends on the
// solver's version, and one that the time limit stopped on the machine's speed.
std::optional<MipSolution> solve_with_cbc(const MipModel& model, const MipLimits& limits,
                                          const std::vector<std::pair<std::size_t, bool>>& start);

// What CBC wrote to its solution file, for a model with these variables. It does not say the bound.
MipSolution read_cbc_solution(const std::string& text, const MipModel& model);

}  // namespace uvmsim
