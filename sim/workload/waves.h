// Waves of CTAs: why smaller kernels reach less of a GPU's arithmetic.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "trace/record.h"

namespace uvmsim {

// In how many waves `gpu` runs the kernel's CTAs, the last of which takes as long as a full one; 0: not known.
//
// Of a kernel whose launch the trace has: its grid, as many CTAs at once as fit (machine/occupancy.h). Of matrix
// products and convolutions, by name, without a launch: one CTA for each 128 x 128 of the `written` bytes of results,
// 4 bytes each, one at a time on a multiprocessor; not of weight gradients, whose results do not depend on the batch.
// That libraries take smaller tiles for small results is left out.
//
// Source: NVIDIA, Matrix Multiplication Background User's Guide, "Tile Quantization" and "Wave Quantization"; the tile
// is that of cuDNN's fp32 kernels (maxwell_scudnn_128x128, volta_scudnn_128x128).
std::int64_t waves_of(const trace::Kernel& kernel, std::string_view name, std::int64_t written, const GpuSpec& gpu);

}  // namespace uvmsim
