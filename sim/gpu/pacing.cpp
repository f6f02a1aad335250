#include "gpu/pacing.h"

#include <algorithm>

#include "machine/occupancy.h"

namespace uvmsim {
namespace {

// CTAs that fit on the GPU at once.
std::int64_t cta_slots(const GpuSpec& gpu, const KernelProgram& program) {
  int resident = resident_ctas(gpu, program.threads(), program.registers());
  if (program.ctas_per_sm() > 0) resident = std::min(resident, program.ctas_per_sm());
  return static_cast<std::int64_t>(gpu.sms) * resident;
}

// Half of a kernel's time or more is what memory takes for its traffic. A kernel that waits for the link is not bound
// by it.
bool is_bound_by_memory(const GpuSpec& gpu, const KernelProgram& program, Duration in_core) {
  return gpu.memory_bandwidth.value == 0 || in_core <= 2 * transfer_time(program.traffic(), gpu.memory_bandwidth);
}

}  // namespace

Pacing::Pacing(const GpuSpec& gpu, const KernelProgram& program, Duration in_core)
    : slots(cta_slots(gpu, program)), duration(in_core) {
  const FaultHardware& hw = gpu.fault;
  const std::int64_t ctas = program.ctas(), steps = program.max_steps();
  cta_start = hw.cta_start;
  if (ctas > slots && !is_bound_by_memory(gpu, program, duration)) {
    // Waves of CTAs that take their time once their pages are there, whoever else waits for faults: all slots are
    // filled at once, and a CTA starts where one has ended.
    const std::int64_t waves = (ctas + slots - 1) / slots;
    dispatch = std::min(duration / (ctas + steps), hw.cta_start / gpu.sms);
    const Duration turns = duration - dispatch * (slots - 1);
    cta_start = std::min(cta_start, turns / (2 * waves));
    step = late_step = (turns - cta_start * (waves - 1)) / (waves * steps);
    residence = step * steps;
  } else if (ctas > slots) {
    // Waves of CTAs that memory keeps waiting, the less the more of them wait for faults: they start at even distances,
    // and the last one ends with the kernel. A slot must be free again when its turn comes, slots * dispatch later:
    // short kernels have shorter steps, then shorter CTA starts.
    const Duration longest = (duration * slots - cta_start * (ctas - 1)) / (slots + ctas - 1);
    step = late_step = std::clamp(longest / steps, Duration{0}, hw.touch_latency);
    residence = step * steps;
    dispatch = (duration - residence) / (ctas - 1);
    cta_start = std::clamp(dispatch * slots - residence, Duration{0}, cta_start);
  } else {
    // One wave: an SM starts a CTA per cta_start; the steps share the rest. What depends on a touch that missed comes
    // its latency later at least, whatever the trace says.
    dispatch = std::min(duration / (ctas + steps), hw.cta_start / gpu.sms);
    step = (duration - dispatch * (ctas - 1)) / steps;
    late_step = std::max(step, hw.touch_latency);
    residence = step * steps;
  }
}

std::int64_t resident_warps(const GpuSpec& gpu, const KernelProgram& program) {
  const std::int64_t warps = (program.threads() + kWarpThreads - 1) / kWarpThreads;
  return std::min(cta_slots(gpu, program), program.ctas()) * warps;
}

}  // namespace uvmsim
