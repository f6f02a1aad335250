// Programs of a few kernels that read whole 2 MiB frames, run against the driver alone.
#pragma once

#include <array>
#include <initializer_list>
#include <vector>

#include "support/driver_fixture.h"

namespace uvmsim::test {

using Frames = std::vector<std::uint32_t>;  // by number

// One kernel per element, each reading these frames, one after the other.
inline Program program_of(const std::vector<Frames>& kernels) {
  Program p;
  p.strings = {"kernel"};
  for (const Frames& frames : kernels) {
    const auto first = static_cast<std::uint32_t>(p.operands.size());
    for (const std::uint32_t frame : frames)
      p.operands.push_back(
          {.address = block_address(frame), .bytes = kBlockBytes, .pattern = trace::Pattern::Broadcast});
    op::Kernel kernel{};
    kernel.operands = {first, static_cast<std::uint32_t>(frames.size())};
    p.ops.emplace_back(kernel);
  }
  return p;
}

// Runs the kernels: each frame that is not on the GPU faults on its first page. Returns the frames that faulted.
inline Frames run_kernels(Driver& d, const Program& p) {
  Frames faulted;
  d.driver.attach(d.space, p, IndexedVector<DeviceOrdinal, GpuIndex>{GpuIndex{}});
  for (std::uint32_t op = 0; op < p.ops.size(); ++op) {
    const auto* kernel = std::get_if<op::Kernel>(&p.ops[op]);
    d.driver.begin_operation(GpuIndex{0}, d.space, op);
    for (std::uint32_t i = 0; kernel != nullptr && i < kernel->operands.count; ++i) {
      const std::uint32_t frame = frame_of(page_of(p.operands[kernel->operands.first + i].address)).value;
      if (d.on_gpu(frame).test(0)) continue;
      faulted.push_back(frame);
      d.read(page_in(frame, 0));
    }
    d.driver.end_operation(GpuIndex{0}, d.space);
    d.driver.audit();
  }
  return faulted;
}

// The frames of [0, outer) that have pages on the GPU.
inline Frames on_gpu(Driver& d, std::uint32_t outer) {
  Frames out;
  for (std::uint32_t frame = 0; frame < outer; ++frame)
    if (d.on_gpu(frame).any()) out.push_back(frame);
  return out;
}

}  // namespace uvmsim::test
