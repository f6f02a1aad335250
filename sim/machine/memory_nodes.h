// Finding memory nodes (Machine::memories) and the ways to them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "machine/link_tree.h"
#include "machine/machine.h"

namespace uvmsim {

// Memory nodes are counted as Machine::memories lists them: those of the machine file first, in its order, then the
// host memories that it leaves out.

// nullopt: no node has that name.
std::optional<int> memory_named(const Machine& machine, std::string_view name);

// The node of the host memory where a GPU's managed pages go, and copies that name no node: that of
// machine.host.membind, else the nearest to the GPU. Empty: none is reached.
std::string managed_memory(const Machine& machine, GpuIndex gpu);
// The same as a memory node.
int nearest_dram(const Machine& machine, GpuIndex gpu);

// The way of a copy. Empty only for a GPU's own memory: read_machine refuses nodes that some GPU does not reach.
LinkPath path_to_memory(const Machine& machine, GpuIndex gpu, int node);
LinkPath path_from_memory(const Machine& machine, GpuIndex gpu, int node);

// A dram node named "memoryN" for each node "memoryN" of the links on which no memory of the machine hangs. They share
// equally what those that do hang on one leave of the host's memory.
std::vector<MemoryNode> unlisted_memories(const Machine& machine);

}  // namespace uvmsim
