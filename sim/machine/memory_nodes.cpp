#include "machine/memory_nodes.h"

#include <algorithm>

#include "base/check.h"

namespace uvmsim {
namespace {

const std::string& node_of(const Machine& machine, int node) {
  return machine.memories.at(static_cast<std::size_t>(node)).node;
}

int index_where(const Machine& machine, const std::string MemoryNode::*member, std::string_view value) {
  const auto found = std::ranges::find(machine.memories, value, member);
  return found == machine.memories.end() ? -1 : static_cast<int>(found - machine.memories.begin());
}

}  // namespace

std::optional<int> memory_named(const Machine& machine, std::string_view name) {
  const int index = index_where(machine, &MemoryNode::name, name);
  return index < 0 ? std::nullopt : std::optional(index);
}

std::string managed_memory(const Machine& machine, GpuIndex gpu) {
  const std::optional<int> bound = memory_named(machine, machine.host.membind);
  return bound ? node_of(machine, *bound) : nearest_memory(machine.links, gpu);
}

int nearest_dram(const Machine& machine, GpuIndex gpu) {
  const int index = index_where(machine, &MemoryNode::node, managed_memory(machine, gpu));
  UVMSIM_CHECK(index >= 0, "every GPU of a machine reaches host memory, and every host memory is a memory node");
  return index;
}

LinkPath path_to_memory(const Machine& machine, GpuIndex gpu, int node) {
  return copy_path(machine.links, gpu_node(gpu), node_of(machine, node));
}

LinkPath path_from_memory(const Machine& machine, GpuIndex gpu, int node) {
  return copy_path(machine.links, node_of(machine, node), gpu_node(gpu));
}

std::vector<MemoryNode> unlisted_memories(const Machine& machine) {
  std::vector<MemoryNode> unlisted;
  for (const LinkSpec& link : machine.links)
    for (const std::string& node : {link.from, link.to}) {
      if (!is_node_of(node, LinkNode::Kind::Memory) || index_where(machine, &MemoryNode::node, node) >= 0 ||
          std::ranges::find(unlisted, node, &MemoryNode::node) != unlisted.end())
        continue;
      unlisted.push_back({.name = node, .kind = "dram", .node = node});
    }
  Bytes left = machine.host.memory;
  for (const MemoryNode& memory : machine.memories)
    if (memory.kind == "dram") left = std::max(Bytes{}, left - memory.capacity);
  for (MemoryNode& memory : unlisted) memory.capacity = left / static_cast<std::int64_t>(unlisted.size());
  return unlisted;
}

}  // namespace uvmsim
