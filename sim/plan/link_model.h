// How fast copies between a GPU and a memory are, as planners reckon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "machine/machine.h"

namespace uvmsim {

struct LinkModel {
  BytesPerSecond out{}, in{};  // from the GPU, to the GPU; 0: infinitely fast
  Duration latency{};          // of each copy

  Duration out_time(std::int64_t bytes) const { return latency + transfer_time(Bytes{bytes}, out); }
  Duration in_time(std::int64_t bytes) const { return latency + transfer_time(Bytes{bytes}, in); }
};

// Copies between a GPU and the memory node `node` of Machine::memories, at `share` of each link's and of the node's own
// rate: 1 alone, 1/n where n GPUs copy at once. The latency is that of a copy method and of the node.
LinkModel link_model(const Machine& machine, GpuIndex gpu, int node, double share = 1);

// The same of the host memory nearest to the GPU.
LinkModel link_model(const Machine& machine, GpuIndex gpu);

// A memory node, as a planner for one GPU sees it.
struct NodeLink {
  std::string name, kind;  // as of MemoryNode
  Bytes capacity{};        // for all GPUs together
  LinkModel links{};       // alone
  bool nearest = false;    // where moves go that name no node
};

// The nodes that `gpu` can move tensors to, in the order of Machine::memories: all but its own memory.
std::vector<NodeLink> node_links(const Machine& machine, GpuIndex gpu);

}  // namespace uvmsim
