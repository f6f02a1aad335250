// What the tensors of all GPUs hold of the machine's memory nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace uvmsim {

class NodeMemory {
 public:
  struct Node {
    std::string name;
    std::int64_t capacity = 0;  // bytes
    std::int64_t used = 0, peak = 0;
  };
  NodeMemory() = default;
  explicit NodeMemory(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  bool has_room(std::size_t node, std::int64_t bytes) const {
    return nodes_[node].used + bytes <= nodes_[node].capacity;
  }
  // False: it has not so much left.
  bool take(std::size_t node, std::int64_t bytes) {
    if (!has_room(node, bytes)) return false;
    Node& n = nodes_[node];
    n.used += bytes;
    n.peak = n.peak < n.used ? n.used : n.peak;
    return true;
  }
  void give_back(std::size_t node, std::int64_t bytes) { nodes_[node].used -= bytes; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace uvmsim
