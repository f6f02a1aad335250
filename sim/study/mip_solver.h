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

// While one lives, a program that this process or a child of it has solved is not solved again by another: planners on
// the same iteration ask for the same programs.
class SharedSolutions {
 public:
  SharedSolutions();
  ~SharedSolutions();
  SharedSolutions(const SharedSolutions&) = delete;
  SharedSolutions& operator=(const SharedSolutions&) = delete;

 private:
  std::string outer_;
};

// What CBC wrote to its solution file, for a model with these variables.
MipSolution read_cbc_solution(const std::string& text, const MipModel& model);

}  // namespace uvmsim
