// Bytes that are held while each kernel of an iteration runs, as plans change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uvmsim {

// Bytes held at each kernel. Changes of ranges and questions about them take logarithmic time.
class LoadCurve {
 public:
  explicit LoadCurve(const std::vector<std::int64_t>& load);

  // `bytes` more at the kernels [first, outer).
  void add(std::int32_t first, std::int32_t outer, std::int64_t bytes) { add({first, outer}, bytes, root()); }
  // `bytes` less strictly between the uses of an interval.
  void free_between(std::int32_t last_use, std::int32_t next_use, std::int64_t bytes);

  // At most, strictly between the uses of an interval.
  std::int64_t most_between(std::int32_t last_use, std::int32_t next_use) const;
  // At most, over the kernels [first, outer) or all; 0 without kernels.
  std::int64_t most(std::int32_t first, std::int32_t outer) const;
  std::int64_t most() const { return most(0, kernels_); }
  // The last and the first kernel of [first, outer) with more than `limit` bytes; -1: there is none.
  std::int32_t last_over(std::int32_t first, std::int32_t outer, std::int64_t limit) const {
    return over({first, outer}, limit, root(), true);
  }
  std::int32_t first_over(std::int32_t first, std::int32_t outer, std::int64_t limit) const {
    return over({first, outer}, limit, root(), false);
  }

 private:
  struct Range {  // of kernels
    std::int32_t first = 0, outer = 0;
    std::int32_t middle() const { return first + (outer - first) / 2; }
    bool apart_from(Range r) const { return r.outer <= r.first || outer <= r.first || r.outer <= first; }
    bool within(Range r) const { return r.first <= first && outer <= r.outer; }
  };
  struct Node {  // of the tree; those below it are 2 index and 2 index + 1
    std::size_t index = 1;
    Range kernels{};
    Node left() const { return {2 * index, {kernels.first, kernels.middle()}}; }
    Node right() const { return {2 * index + 1, {kernels.middle(), kernels.outer}}; }
  };
  Node root() const { return {1, {0, width_}}; }
  void add(Range where, std::int64_t bytes, Node node);
  std::int64_t most(Range where, Node node) const;
  std::int32_t over(Range where, std::int64_t limit, Node node, bool last) const;

  std::int32_t kernels_ = 0;
  std::int32_t width_ = 1;             // leaves of the tree, a power of two
  std::vector<std::int64_t> most_{};   // of the kernels below a node, with what is added to it and below
  std::vector<std::int64_t> added_{};  // to all kernels below a node
};

}  // namespace uvmsim
