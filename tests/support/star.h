// A machine made by hand: GPUs around one socket, each on a link of its own. A ring or a pair shares no link with
// another one.
#pragma once

#include <string>

#include "engine/run.h"

namespace uvmsim::testing_support {

// 10 GB/s each way between any two GPUs. Nothing else takes time.
inline Machine star(int gpus) {
  Machine m;
  m.gpus.resize(static_cast<std::size_t>(gpus));
  for (GpuSpec& gpu : m.gpus) gpu.usable_memory = Bytes{1 << 30};
  const auto hop = [&](const std::string& name, const std::string& from, const std::string& to, std::int64_t factor) {
    LinkSpec link;
    link.name = name;
    link.kind = "pcie";
    link.from = from;
    link.to = to;
    link.down = link.up = BytesPerSecond{10'000'000'000 * factor};
    m.links.push_back(link);
  };
  hop("memory0", "memory0", "socket0", 100);
  for (int g = 0; g < gpus; ++g) hop("pcie" + std::to_string(g), "socket0", "gpu" + std::to_string(g), 1);
  m.peer_access = "any";
  m.host.touch_bandwidth = BytesPerSecond{10'000'000'000};
  return m;
}

// A program of one iteration; operations are appended to `ops`.
inline Program one_iteration() {
  Program program;
  program.strings = {"kernel"};
  program.ops.push_back(op::Iteration{0});
  return program;
}

inline op::Kernel kernel(int device, double milliseconds, std::int32_t stream = 0) {
  op::Kernel k{};
  k.stream = stream;
  k.device = DeviceOrdinal{device};
  k.duration = microseconds(1000 * milliseconds);
  return k;
}

inline op::Collective collective(trace::Collective kind, int device, std::int64_t bytes, std::int32_t communicator = 0,
                                 std::int32_t stream = 0) {
  op::Collective c{};
  c.kind = kind;
  c.stream = stream;
  c.device = DeviceOrdinal{device};
  c.bytes = bytes;
  c.communicator = communicator;
  return c;
}

inline op::Collective send(int device, int peer, std::int64_t bytes, std::int32_t stream = 0) {
  op::Collective c = collective(trace::Collective::Send, device, bytes, 0, stream);
  c.peer = DeviceOrdinal{peer};
  return c;
}

inline op::Collective receive(int device, int peer, std::int64_t bytes, std::int32_t stream = 0) {
  op::Collective c = send(device, peer, bytes, stream);
  c.kind = trace::Collective::Receive;
  return c;
}

// One process over all GPUs, by default without warm-up.
inline Result run_on(const Machine& machine, const Program& program, RunOptions options = {}, int warmup = 0) {
  IndexedVector<DeviceOrdinal, GpuIndex> gpus;
  for (const GpuIndex g : machine.gpus.indices()) gpus.push_back(g);
  const Process process{&program, gpus};
  options.warmup = warmup;
  return run(machine, {&process, 1}, options);
}

}  // namespace uvmsim::testing_support
