// Which results of the forward pass stay, and which are made again in each stage of the backward pass, as a
// mixed-integer program: Checkmate's, where stages are what the backward pass does and it runs each once.
#pragma once

#include <utility>
#include <vector>

#include "plan/mip_model.h"

namespace uvmsim {

struct CheckmateProblem {
  struct Node {                        // what a group of kernels of the forward pass makes
    double time = 0;                   // ms, to make it again
    std::vector<std::size_t> reads{};  // other nodes, each an earlier one
  };
  struct Stage {                       // of the backward pass
    double held = 0;                   // MiB, beside the nodes
    std::vector<double> bytes{};       // MiB, of each node: what the program has not freed
    std::vector<std::size_t> needs{};  // nodes
  };
  struct Peak {                   // in the forward pass
    double held = 0;              // MiB, with nodes that it still uses
    std::vector<double> bytes{};  // MiB, of each node that it uses no more
  };
  std::vector<Node> nodes{};
  std::vector<Stage> stages{};
  std::vector<Peak> peaks{};
  double budget = 0;  // MiB
};

// By stage and node.
struct CheckmateSchedule {
  std::vector<std::vector<bool>> kept{};  // is there when the stage begins
  std::vector<std::vector<bool>> made{};  // is made again in the stage, and stays till its end at least
};

// Minimises the time of what is made again. `relaxed`: as a linear program.
MipModel checkmate_model(const CheckmateProblem& problem, bool relaxed);
// What a solution of the integer program says.
CheckmateSchedule schedule_of(const CheckmateProblem& problem, const std::vector<double>& values);
// The same as values of the program's binaries.
std::vector<std::pair<std::size_t, bool>> values_of(const CheckmateSchedule& schedule);
// The values of a solution that are above `threshold` as what is kept, with the least that has to be made then.
CheckmateSchedule rounded_schedule(const CheckmateProblem& problem, const std::vector<double>& values,
                                   double threshold);
// Every `distance`-th node is kept.
CheckmateSchedule equidistant_schedule(const CheckmateProblem& problem, std::size_t distance);

// ms of what is made again.
double time_of(const CheckmateProblem& problem, const CheckmateSchedule& schedule);
bool fits(const CheckmateProblem& problem, const CheckmateSchedule& schedule);

}  // namespace uvmsim
