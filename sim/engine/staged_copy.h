// Explicit copies between GPUs that do not reach each other's memory.
#pragma once

#include "engine/gpu_device.h"

namespace uvmsim {

// Copies `size` bytes from one GPU to another through two buffers in host memory: while the second GPU fetches one
// chunk, the first writes the next one. Blocks the calling actor until the bytes are there; they count as explicit
// copies of both GPUs.
//
// Source of the mechanism: profiles of cudaMemcpyPeer without peer access show device-to-host and host-to-device copies
// that overlap; RuntimeCosts::staging_chunk and staging_handover hold what it costs.
void staged_copy(GpuDevice& from, GpuDevice& to, Bytes size);

}  // namespace uvmsim
