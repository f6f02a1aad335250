// What one may change about a workload that does not fit, or that could be larger: `uvmsim advise` tries each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/experiment.h"
#include "study/policy_file.h"

namespace uvmsim {

// One change.
struct Candidate {
  std::string kind;                        // card, batch, policy, planner, parameter, allocator or memory
  std::string name;                        // "batch 44", "threshold_5"
  std::string meaning;                     // one sentence
  std::string change;                      // the line to write: of code, of a module parameter, of the environment
  std::string needs;                       // what it takes besides that; "": nothing
  std::string machine;                     // of a card: the name of its machine; "": the experiment's
  std::vector<std::string> settings = {};  // KEY=VALUE, over the experiment's
};

// The planners that are tried: those that PyTorch or DeepSpeed have, and published swapping that decides fast.
const std::vector<std::string>& advised_planners();

// The policies that are tried, by the names of their files: what can be had today, and a bound.
const std::vector<std::string>& advised_policies();

// What is tried, in this order: cards, numbers and kernels of less memory, policies, planners, allocators, batches.
// `base` runs on managed memory; where it `fits`, cudaMalloc takes the place of what moves memory.
std::vector<Candidate> candidates_of(const Experiment& base, bool fits, const std::vector<PolicyFile>& policies,
                                     const std::vector<std::string>& cards);

// An input that fits: as MemoryFit::Largest.
Candidate input_candidate(const std::string& parameter, const std::string& largest);

// A batch of `size` samples instead of the experiment's.
Candidate batch_candidate(std::int64_t size, bool largest_that_fits);

}  // namespace uvmsim
