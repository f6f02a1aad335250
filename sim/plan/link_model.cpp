#include "plan/link_model.h"

#include "base/check.h"
#include "machine/memory_nodes.h"

namespace uvmsim {
namespace {

BytesPerSecond narrowest(const LinkPath& path, BytesPerSecond own, double share) {
  BytesPerSecond rate = own;
  for (const LinkHop& hop : path)
    if (hop.rate().value > 0 && (rate.value == 0 || hop.rate() < rate)) rate = hop.rate();
  return {static_cast<std::int64_t>(static_cast<double>(rate.value) * share)};
}

}  // namespace

LinkModel link_model(const Machine& machine, GpuIndex gpu, int node, double share) {
  UVMSIM_CHECK(share > 0 && share <= 1, "a share is above 0, and 1 is all");
  const MemoryNode& memory = machine.memories.at(static_cast<std::size_t>(node));
  return {.out = narrowest(path_to_memory(machine, gpu, node), memory.write, share),
          .in = narrowest(path_from_memory(machine, gpu, node), memory.read, share),
          .latency = machine.gpus.at(gpu).copy.method_latency + memory.latency};
}

LinkModel link_model(const Machine& machine, GpuIndex gpu) {
  return link_model(machine, gpu, nearest_dram(machine, gpu));
}

std::vector<NodeLink> node_links(const Machine& machine, GpuIndex gpu) {
  std::vector<NodeLink> links;
  for (int n = 0; n < static_cast<int>(machine.memories.size()); ++n) {
    const MemoryNode& node = machine.memories[static_cast<std::size_t>(n)];
    if (node.node == gpu_node(gpu)) continue;
    links.push_back({.name = node.name,
                     .kind = node.kind,
                     .capacity = node.capacity,
                     .links = link_model(machine, gpu, n),
                     .nearest = n == nearest_dram(machine, gpu)});
  }
  return links;
}

}  // namespace uvmsim
