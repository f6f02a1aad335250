// The machine's links as a graph of typed nodes, and the one search for paths in it: what a machine file is checked
// with is what the engine routes along.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace uvmsim {

// A node of the links, named after its kind: "gpu0", "switch0", ... Switches and sockets (root complexes) forward, and
// over NVLink between GPUs only switches; paths end at the others.
struct LinkNode {
  enum class Kind { Gpu, Switch, Socket, Memory, Nvm, Ssd, Cxl };
  Kind kind = Kind::Gpu;
  int number = 0;
};

// nullopt: no node is named so. Numbers have no leading zeros.
std::optional<LinkNode> link_node(std::string_view name);
bool is_node_of(std::string_view name, LinkNode::Kind kind);
std::string gpu_node(GpuIndex gpu);

// A link crossed in one direction.
struct LinkHop {
  const LinkSpec* link = nullptr;
  bool down = true;  // from `from` to `to`

  BytesPerSecond rate() const { return down ? link->down : link->up; }
  BytesPerSecond rate_back() const { return down ? link->up : link->down; }
};
using LinkPath = std::vector<LinkHop>;

// The path with the fewest links; of several, that of the link declared first. Empty: there is none.
LinkPath nvlink_path(const std::vector<LinkSpec>& links, const std::string& from,
                     const std::string& to);  // NVLinks between GPUs only
LinkPath host_path(const std::vector<LinkSpec>& links, const std::string& from,
                   const std::string& to);  // all others; NVLinks and C2C links to sockets are among them

// The path of a copy: over NVLink between two GPUs that it joins, else over the other links.
LinkPath copy_path(const std::vector<LinkSpec>& links, const std::string& from, const std::string& to);

// The kind of the link at the GPU's end of the path from its nearest host memory; "": there is none.
std::string host_link_kind(const std::vector<LinkSpec>& links, GpuIndex gpu);

// The first GPU of the server that a GPU is in: no network is on the way to it.
GpuIndex server_of(const Machine& machine, GpuIndex gpu);

// The node "memoryN" that the fewest links separate from a GPU; of several, the first by name. Empty: none is reached.
std::string nearest_memory(const std::vector<LinkSpec>& links, GpuIndex gpu);

}  // namespace uvmsim
