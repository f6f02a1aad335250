// A machine of one GPU on one link to host memory.
#pragma once

#include <string>

#include "machine/machine.h"

namespace uvmsim {

inline Machine one_gpu(Bytes memory, BytesPerSecond link_rate, Bytes host_memory = Bytes{std::int64_t{1} << 40}) {
  Machine m;
  m.gpus.resize(1);
  m.gpus[GpuIndex{0}].usable_memory = memory;
  m.gpus[GpuIndex{0}].memory_bandwidth = BytesPerSecond{900'000'000'000};
  m.host.memory = host_memory;
  const auto hop = [&](const std::string& from, const std::string& to) {
    LinkSpec link;
    link.name = link.kind = from;
    link.from = from;
    link.to = to;
    link.down = link.up = link_rate;
    m.links.push_back(link);
  };
  hop("memory0", "socket0");
  hop("socket0", "gpu0");
  return m;
}

}  // namespace uvmsim
