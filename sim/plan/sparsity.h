// How many elements of a tensor are zero: what codecs live on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/iteration_graph.h"

namespace uvmsim {

// Per tensor: what the trace says (`zeros` of its allocation); else, of what a ReLU of the forward pass wrote last, by
// its depth: half of its elements at the first ReLU and 74 % at the last, linear in between. What only copies or scales
// elements (concatenation, local response normalization, dropout) keeps the zeros of what it reads, and a max pooling
// those whose whole window is zero. Of all others none.
//
// The mean of 62 % is cDMA's (Rhu et al., HPCA 2018: a mean density of 38 %; from memory), which is also the upper end
// of ZCOMP's 49 to 62 % (Akin et al., MICRO 2019); that the first layer's outputs stay half dense and deeper ones get
// sparser is cDMA's, too (from memory). The straight line is assumed, and the last value follows from the mean.
// Zeros lie together: of a share z a max pooling keeps about z^1.4, the mean over the five poolings that convolutions
// read in AlexNet and VGG-16 (1.1 to 1.7; zeros in inputs of layers, Chen et al., Eyeriss, JSSC 2017, tables V and VI,
// from memory; the share before a pooling is the mean of its neighbours').
class SparsityTable {
 public:
  // `given`: the share for every tensor instead; nullopt: as above.
  explicit SparsityTable(const IterationGraph& graph, std::optional<double> given = std::nullopt);

  // The share of zeros in the tensor after kernel `kernel`, 0..1.
  double after(std::int32_t kernel, std::int32_t tensor) const;
  // The kernel that wrote the tensor last, up to `kernel`, if it is a ReLU of the forward pass; -1: it is not.
  std::int32_t relu_before(std::int32_t kernel, std::int32_t tensor) const;

 private:
  double of_relu(std::int32_t kernel, std::int32_t tensor) const;
  double kept(std::int32_t writer, std::int32_t tensor) const;
  std::int32_t writer_before(std::int32_t kernel, std::int32_t tensor) const;

  const IterationGraph& graph_;
  std::optional<double> given_;
  std::int32_t forward_ = 0;         // its kernels come first
  std::vector<std::int32_t> relus_;  // of the forward pass, in the order of issue
};

}  // namespace uvmsim
