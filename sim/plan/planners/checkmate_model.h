// Which results of the forward pass stay, and which are made again in each stage of the backward pass, as a
// mixed-integer program: Checkmate's, where stages are what the backward pass does and it runs each once. With paging,
// POET's: what is not kept may also come back from host memory.
#pragma once

#include <optional>
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
    double begin = 0;                  // ms since the iteration's begin, if all is kept
    double held = 0;                   // MiB, besides the nodes
    std::vector<double> bytes{};       // MiB, of each node: what the program has not freed
    std::vector<std::size_t> needs{};  // nodes
  };
  struct Peak {                   // in the forward pass, ascending
    double begin = 0;             // ms, the same
    double held = 0;              // MiB, with nodes that it still uses
    std::vector<double> bytes{};  // MiB, of each node that it uses no more
  };
  struct Paging {            // copies to host memory and back
    double out = 0, in = 0;  // MiB per ms
  };
  std::vector<Node> nodes{};
  std::vector<Stage> stages{};
  std::vector<Peak> peaks{};
  std::optional<Paging> paging{};  // nullopt: there is none
  double budget = 0;               // MiB
};

// By stage and node.
struct CheckmateSchedule {
  std::vector<std::vector<bool>> kept{};   // is there when the stage begins
  std::vector<std::vector<bool>> made{};   // is made again in the stage, and stays till its end at least
  std::vector<std::vector<bool>> paged{};  // has come back when the stage begins, stays as long; not kept in stage 0

  bool there(std::size_t stage, std::size_t node) const {
    return kept[stage][node] || made[stage][node] || paged[stage][node];
  }
  // Whether the node, away when the stage begins, comes back from host memory next.
  bool comes_back(std::size_t stage, std::size_t node) const;
  // By node: whether it ever does. It is copied out in the forward pass.
  std::vector<bool> pages() const;
};

// Minimises the time of what is made again and of waiting for copies. `relaxed`: as a linear program.
MipModel checkmate_model(const CheckmateProblem& problem, bool relaxed);
// What a solution of the integer program says.
CheckmateSchedule schedule_of(const CheckmateProblem& problem, const std::vector<double>& values);
// The same as values of the program's binaries.
std::vector<std::pair<std::size_t, bool>> values_of(const CheckmateProblem& problem, const CheckmateSchedule& schedule);
// The values of a solution that are above `threshold` as what is kept, with the least that has to be made then. Nodes
// that the solution brings back from host memory more than it makes them do so.
CheckmateSchedule rounded_schedule(const CheckmateProblem& problem, const std::vector<double>& values,
                                   double threshold);
// Every `distance`-th node is kept. Of the others, those `paged` come back from host memory that take longest to make
// again for their bytes.
CheckmateSchedule equidistant_schedule(const CheckmateProblem& problem, std::size_t distance, std::size_t paged = 0);

// The same nodes stay as in `schedule`, if they can; of the others, `pages` come back from host memory.
CheckmateSchedule repaged_schedule(const CheckmateProblem& problem, const CheckmateSchedule& schedule,
                                   const std::vector<bool>& pages);

// ms of what is made again and of waiting for copies; of a schedule that fits.
double time_of(const CheckmateProblem& problem, const CheckmateSchedule& schedule);
bool fits(const CheckmateProblem& problem, const CheckmateSchedule& schedule);

}  // namespace uvmsim
