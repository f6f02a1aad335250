// How many elements of a tensor are zero: what codecs live on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/iteration_graph.h"

namespace uvmsim {

// Per tensor: what the trace says (`zeros` of its allocation); else, of what a ReLU of the forward pass wrote last, by
// its depth: half of its elements at the first ReLU and 74 % at the last, linear in between. Of all others none.
//
// The mean of 62 % is cDMA's (Rhu et al., HPCA 2018: a mean density of 38 %; from memory), which is also the upper end
// of ZCOMP's 49 to 62 % (Akin et al., MICRO 2019); that the first layer's outputs stay half dense and deeper ones get
// sparser is cDMA's, too (from memory). The straight line is assumed, and the last value follows from the mean.
class SparsityTable {
 public:
  // `given`: the share for every tensor instead; nullopt: as above.
  explicit SparsityTable(const IterationGraph& graph, std::optional<double> given = std::nullopt);

  // The share of zeros in the tensor after kernel `kernel`, 0..1.
  double after(std::int32_t kernel, std::int32_t tensor) const;
  // The kernel that wrote the tensor last, up to `kernel`, if it is a ReLU of the forward pass; -1: it is not.
  std::int32_t relu_before(std::int32_t kernel, std::int32_t tensor) const;

 private:
  const IterationGraph& graph_;
  std::optional<double> given_;
  std::vector<std::int32_t> relus_;  // of the forward pass, in the order of issue
};

}  // namespace uvmsim
