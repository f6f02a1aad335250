// The offline choice of intervals to swap, with the timing of the copies, as a mixed-integer program.
//
// A reconstruction: TMO's program is not public. What is: execution and transfers are decoupled, so that a swap may
// overlap kernels it has nothing to do with, and products are linearised by McCormick's envelopes, which for a binary
// factor are what the big-M rows here say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/mip_model.h"
#include "plan/profile.h"

namespace uvmsim {

// Intervals with the same slots are one.
struct SlotInterval {
  std::int32_t last_use = 0, next_use = 0;  // slots, at least one between them
  double size = 0;                          // MiB
  double out = 0, in = 0;                   // ms that its copies take
  std::vector<std::size_t> members{};       // of Profile::intervals
};

// One GPU's iteration, cut into runs of kernels (slots) at the uses of what may be swapped.
struct SwapProblem {
  std::vector<double> duration;             // ms, by slot
  std::vector<double> load;                 // MiB, by slot, when nothing is swapped
  std::vector<SlotInterval> intervals;      // by (last_use, next_use)
  double budget = 0;                        // MiB
  std::vector<std::int32_t> last_kernel{};  // of each slot
};

// `candidates`: of Profile::intervals; those that wrap or are dead are left out. At most `slots` slots. A slot's load
// is its largest; an interval relieves only slots strictly between its uses: what fits here fits there.
SwapProblem swap_problem(const Profile& profile, const std::vector<std::size_t>& candidates, std::size_t slots,
                         double budget);

// How GPUs in one program depend on each other.
struct SwapCoupling {
  bool shared_link = false;  // one machine per direction for all copies; else one per GPU
  bool disjoint = false;     // no two GPUs swap the same interval, or pay `penalty` ms for it,
  double penalty = 0;
  bool enforce = false;  // or never do, whatever the price
};

// Minimises the time at which the last GPU ends (ms), copies first in, first out by their intervals' uses.
class SwapModel {
 public:
  // All problems have the same slots and intervals when the coupling is disjoint.
  SwapModel(std::span<const SwapProblem> gpus, const SwapCoupling& coupling);

  const MipModel& model() const { return model_; }
  // Whether every slot over budget has intervals enough to relieve it.
  bool may_be_feasible() const { return may_be_feasible_; }
  std::size_t swapped(std::size_t gpu, std::size_t interval) const { return swapped_[gpu][interval]; }

  // Of a solution: the intervals that GPU `gpu` swaps, with the slot after which each comes back in; its last use's
  // when it may at once.
  struct Choice {
    std::size_t interval = 0;
    std::int32_t after_slot = 0;
  };
  std::vector<Choice> choices(std::size_t gpu, const MipSolution& solution) const;

 private:
  // Of an interval and a slot over budget: whether its copy out is over when the slot starts, and whether its copy in
  // may hold memory in it.
  struct Absence {
    std::size_t interval = 0;
    std::int32_t slot = 0;
    std::size_t gone = 0, back = 0;  // variables
  };
  void add_gpu(const SwapProblem& problem, std::size_t g);
  void add_memory(const SwapProblem& problem, std::size_t g);
  void add_implied(const SwapProblem& problem, std::size_t g);
  void add_queues(std::span<const SwapProblem> gpus, bool shared);
  double horizon_ = 0;  // the big M: nothing takes longer
  MipModel model_;
  bool may_be_feasible_ = true;
  std::size_t end_ = 0;
  std::vector<std::vector<std::size_t>> start_, swapped_, out_, in_;  // variables, by GPU
  std::vector<std::vector<Absence>> absences_;                        // by GPU, of its intervals and slots in order
  std::vector<std::vector<std::int32_t>> last_uses_;
};

}  // namespace uvmsim
