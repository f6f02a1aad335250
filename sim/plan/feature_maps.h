// Swapping by layers: the runs of kernels that are a layer's, the feature maps between the forward and the backward
// pass, the load that is left as intervals are taken, and the proof that ends such a plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/load_curve.h"
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

// The kernel before which the interval's bytes can be back at the earliest, from `earliest` on, and stay under `limit`;
// its next use at the latest. Of an interval that reaches into the next iteration: a kernel of that one. `load` gets
// the bytes from there on.
std::int32_t bring_back(const Interval& interval, std::int32_t earliest, std::int64_t limit, LoadCurve& load);

// Ends a plan of moves that relies on no reclaim policy: with every byte counted in the order of issue it keeps to its
// budget, or it is infeasible, `why` says so, and memory is reclaimed on demand. Where intervals reach into the next
// iteration that is said of all but the first one, in which their tensors are still there: it reclaims on demand, too.
// A plan that cannot be executed even so, for want of room in host memory, is given up: nothing moves. Actions are
// sorted by their next uses, so that copies in at one place are in the order of need.
void prove(const Profile& profile, Plan& plan);

// "n tensors, b bytes each way".
std::string moved_text(const Plan& plan);

}  // namespace uvmsim
