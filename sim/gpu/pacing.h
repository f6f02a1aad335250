// How fast the CTAs of a kernel come and go when nothing faults.
#pragma once

#include "gpu/kernel_program.h"
#include "machine/machine.h"

namespace uvmsim {

// The in-core duration of a kernel is spent in the dispatch of its CTAs (several waves, bound by memory) or in the
// steps of the resident ones (others), and nowhere else: a kernel that never faults takes exactly that long.
struct Pacing {
  std::int64_t slots = 1;  // CTAs resident on the GPU at once
  Duration dispatch{};     // between two CTA starts, GPU-wide
  Duration step{};         // from a step without a miss to the next one
  Duration late_step{};    // from a step's last miss resolved to the next step
  Duration residence{};    // of a CTA that never misses
  Duration cta_start{};    // from a CTA's end to the next one's start in its slot
  Duration duration{};     // of the kernel when it never faults

  Pacing() = default;
  Pacing(const GpuSpec& gpu, const KernelProgram& program, Duration in_core);
};

// Warps of the kernel that the GPU runs at once.
std::int64_t resident_warps(const GpuSpec& gpu, const KernelProgram& program);

}  // namespace uvmsim
