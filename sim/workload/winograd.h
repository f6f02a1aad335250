// Launch variants for the 3x3 convolutions of a trace that records none.
#pragma once

#include "trace/record.h"

namespace uvmsim {

// Forward convolutions and data gradients get one with a workspace: Winograd's F(4x4, 3x3), not fused, whose workspace
// holds 6x6 values for each 4x4 of both maps and each 3x3 of the weight (Lavin and Gray, Fast Algorithms for
// Convolutional Neural Networks, CVPR 2016, section 4). It takes the recorded duration; as it is recorded, without a
// workspace, the kernel then takes kWithoutWorkspace times as long. Maps that come out smaller than they go in are left
// alone: strides shrink them, and Winograd has none. Returns how many kernels there were.
std::size_t add_winograd_variants(trace::Trace& trace);

// Oyama et al., mu-cuDNN, CLUSTER 2018, abstract: what ResNet-18, whose convolutions are 3x3, gains on a P100 where
// they get a workspace that suffices. Of whole iterations, so of the convolutions at least.
inline constexpr double kWithoutWorkspace = 1.21;

}  // namespace uvmsim
