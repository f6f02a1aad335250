// How tensors are made, so that kernels can run again to make them: what planners that recompute decide by.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/profile.h"

namespace uvmsim {

// How a tensor got the contents that it has when the forward pass is over.
struct Making {
  std::vector<std::int32_t> kernels{};  // that wrote to it, ascending; empty: it cannot be made again
  std::vector<std::int32_t> inputs{};   // other tensors that these read, ascending
  std::int32_t until = 0;               // at last before this kernel they can run again, with all that they need
  Duration time{};                      // of the kernels
};

class Lineage {
 public:
  explicit Lineage(const IterationGraph& graph);

  // The first kernel of the phase "backward"; -1: there is none, and nothing can be made again.
  std::int32_t backward() const { return backward_; }
  const Making& of(std::int32_t tensor) const { return makings_[static_cast<std::size_t>(tensor)]; }

  // The kernels that make `tensors` again before kernel `before`, ascending: theirs, and those of what these read and
  // what has no memory or is `away`. Not after Making::until of the tensors.
  std::vector<std::int32_t> kernels_for(std::span<const std::int32_t> tensors, std::int32_t before,
                                        const std::function<bool(std::int32_t)>& away) const;
  // Whether the tensor has memory when kernel `kernel` is about to be launched.
  bool allocated(std::int32_t tensor, std::int32_t kernel) const;

 private:
  Making making(std::int32_t tensor) const;
  void limit(std::int32_t tensor);

  const IterationGraph& graph_;
  std::int32_t backward_ = -1;
  std::vector<Making> makings_;  // by tensor
};

// Intervals, by index into Profile::intervals, of at least `least` bytes between the forward and the backward pass or
// in the backward pass, whose tensors can be made again for their next use. In the order of their last uses.
std::vector<std::size_t> recomputable(const Profile& profile, const Lineage& lineage, Bytes least);

}  // namespace uvmsim
