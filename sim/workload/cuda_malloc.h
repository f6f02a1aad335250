// Programs as they are written without Unified Memory: what managed memory is measured against.
#pragma once

#include "trace/record.h"

namespace uvmsim {

// `trace` with cudaMalloc instead of cudaMallocManaged and malloc: all of its tensors that are not the host's own are
// in device memory, and where the host touches one, cudaMemcpy copies what it touches: to the host before it reads what
// the GPU wrote since, to the GPU before that next uses what the host wrote. The host's side is pageable memory.
trace::Trace with_cuda_malloc(trace::Trace trace);

}  // namespace uvmsim
