// In which orders the kernels of an iteration may run: what they read is written before, and nothing that is still to
// be read is overwritten.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/iteration_graph.h"

namespace uvmsim {

class KernelOrder {
 public:
  explicit KernelOrder(const IterationGraph& graph);

  // Kernels change places only where all run on one stream; and none passes a copy, a collective or a synchronisation.
  bool is_free() const { return free_; }
  // Those of which kernel `kernel` needs that they run before, ascending: each tensor counts as a whole.
  std::span<const std::int32_t> needed_by(std::int32_t kernel) const {
    return needed_[static_cast<std::size_t>(kernel)];
  }
  // Why the iteration cannot run so, "": it can.
  std::string fault_of(std::span<const std::int32_t> order) const;
  // The order that takes, of the kernels whose turn it may be, the one with the smallest priority; of equals the first.
  std::vector<std::int32_t> by_priority(std::span<const double> priority) const;

 private:
  bool free_ = true;
  std::vector<std::vector<std::int32_t>> needed_;
  std::vector<std::int32_t> part_;  // of each kernel: this many copies, collectives and synchronisations come before
};

}  // namespace uvmsim
