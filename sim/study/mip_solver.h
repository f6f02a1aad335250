// CBC (coinor-cbc) as a child process.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/mip_model.h"

namespace uvmsim {

// Solves `model` with the program `cbc` of the search path in a temporary folder; one thread. `start`: values of some
// binaries to begin with. nullopt: there is no such program. Throws std::runtime_error when it fails.
// A solution that a limit stopped depends on the machine's speed; an optimal one only on the solver's version.
std::optional<MipSolution> solve_with_cbc(const MipModel& model, const MipLimits& limits,
                                          const std::vector<std::pair<std::size_t, bool>>& start);

// What CBC wrote to its solution file, for a model with these variables.
MipSolution read_cbc_solution(const std::string& text, const MipModel& model);

}  // namespace uvmsim
