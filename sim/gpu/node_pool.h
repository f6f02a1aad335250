// Nodes of singly linked lists in one array: no allocation once grown.
#pragma once

#include <cstdint>
#include <vector>

namespace uvmsim {

// `Node` has `std::uint32_t next`: the node after it, kNone behind the last one.
template <class Node>
class NodePool {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  Node& operator[](std::uint32_t id) { return nodes_[id]; }
  // A new node, its number.
  std::uint32_t take(const Node& node) {
    std::uint32_t id = free_;
    if (id == kNone) {
      id = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(node);
    } else {
      free_ = nodes_[id].next;
      nodes_[id] = node;
    }
    return id;
  }
  // The node is used no more. Returns the one after it.
  std::uint32_t give_back(std::uint32_t id) {
    const std::uint32_t next = nodes_[id].next;
    nodes_[id].next = free_;
    free_ = id;
    return next;
  }
  void clear() {
    nodes_.clear();
    free_ = kNone;
  }

 private:
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
};

}  // namespace uvmsim
