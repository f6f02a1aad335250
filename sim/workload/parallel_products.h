// Convolutions and matrix products of one input as one kernel.
#pragma once

#include <string>

#include "trace/record.h"
#include "workload/edit.h"

namespace uvmsim {

struct ParallelProducts {
  KernelSelection select;  // of those that may be fused
  double ratio = 0;        // what a fused kernel takes, in times of what its kernels took together; 0: by the roofline
  bool enlarge = false;    // convolutions of different sizes, too: the smaller ones get the largest one's

  static const Description& description();
};

// `trace` with its parallel products fused: those of one name, device and stream that read one tensor, with weights of
// one shape and results of one extent, as far as bytes tell. They run where the first one did, and their results are
// allocated before. Gradients of weights that read one tensor, and gradients that are added to one sum, run where the
// last one did; what they read is freed after, and of the additions one is left.
//
// By the roofline, a fused kernel takes the times of its kernels in the ratio that roofline_time gives for it, which
// reads their input once, over that for them apart, and at least as long as the longest. A name does not tell 1x3 from
// 3x1.
//
// UserError, which begins with `name`, when nothing is fused.
trace::Trace fuse_parallel_products(trace::Trace trace, const ParallelProducts& which, const std::string& name);

}  // namespace uvmsim
