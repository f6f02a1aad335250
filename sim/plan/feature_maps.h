// Swapping by layers: the runs of kernels that are a layer's, the feature maps between the forward and the backward
// pass, the load that is left as intervals are taken, and the proof that ends such a plan.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace uvmsim {

// Kernels [first, outer) of one layer and phase, one after the other.
struct LayerRun {
  std::int32_t first = 0, outer = 0;
  bool convolution = false;  // one of them is
};

// The iteration, cut where a layer or a phase ends; where the trace names no layers, each kernel is one.
std::vector<LayerRun> layer_runs(const IterationGraph& graph);

// The run of `kernel`, as an index.
std::size_t run_of(std::span<const LayerRun> runs, std::int32_t kernel);

// Intervals, by index into Profile::intervals, of at least `least` bytes, that begin in the forward pass and end in the
// backward pass, of what the iteration makes. In the order of their last uses. None without these phases.
std::vector<std::size_t> feature_maps(const Profile& profile, Bytes least);

// Whether `kernel` writes to the tensor. How it uses it; nullptr: not at all.
const TensorUse* use_of(const IterationGraph& graph, std::int32_t kernel, std::int32_t tensor);

// Bytes held at each kernel, as ranges of kernels are changed: O(log kernels) each.
class LoadTree {
 public:
  explicit LoadTree(std::span<const std::int64_t> load);
  // To the kernels [first, outer).
  void add(std::int32_t first, std::int32_t outer, std::int64_t bytes);
  // To those at which the interval's bytes are not needed.
  void add(const Interval& interval, std::int64_t bytes);
  // The most in [first, outer); kEmpty where that is empty.
  std::int64_t most(std::int32_t first, std::int32_t outer) const;
  std::int64_t most() const { return most(0, kernels_); }
  // The first kernel from `from` on with more than `bytes`; -1: none.
  std::int32_t first_above(std::int64_t bytes, std::int32_t from = 0) const;

  static constexpr std::int64_t kEmpty = std::numeric_limits<std::int64_t>::min();

 private:
  std::int32_t kernels_;
  std::size_t leaves_ = 1;                  // a power of two
  std::vector<std::int64_t> most_, whole_;  // by node: the most below it; added to all below it, which that includes
};

// The kernel before which the interval's bytes can be back at the earliest, from `earliest` on, and stay under `limit`;
// its next use at the latest. Of an interval that reaches into the next iteration: a kernel of that one. `load` gets
// the bytes from there on.
std::int32_t bring_back(const Interval& interval, std::int32_t earliest, std::int64_t limit, LoadTree& load);

// Ends a plan of moves that relies on no reclaim policy: with every byte counted in the order of issue it keeps to its
// budget, or it is infeasible, `why` says so, and memory is reclaimed on demand. Where intervals reach into the next
// iteration that is said of all but the first one, in which their tensors are still there: it reclaims on demand, too.
// A plan that cannot be executed even so, for want of room in host memory, is given up: nothing moves. Actions are
// sorted by their next uses, so that copies in at one place are in the order of need.
void prove(const Profile& profile, Plan& plan);

// "n tensors, b bytes each way".
std::string moved_text(const Plan& plan);

}  // namespace uvmsim
