// Ranges that a program marks on its host threads (NVTX, record_function, modules), and what they say of the work that
// is launched inside of them: its layer, its phase, its iteration.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace uvmsim {

// Times in ns.
class HostRanges {
 public:
  // A range that its program named. Names of iterations ("step 7"), of phases ("## forward ##", "Optimizer.step#SGD"),
  // of PyTorch's operators as emit_nvtx writes them ("aten::mul, seq = 5") and of libraries' calls ("nccl:...") are
  // known; any other is a layer.
  void add(std::int64_t thread, std::int64_t start, std::int64_t end, std::string_view name);
  // A module's forward: its layer.
  void add_module(std::int64_t thread, std::int64_t start, std::int64_t end, std::string_view name);
  // An operator of PyTorch with the sequence number by which autograd's node finds what it differentiates.
  void add_operator(std::int64_t thread, std::int64_t start, std::int64_t end, std::string_view name,
                    std::int64_t sequence);

  // All ranges were added. Call once.
  void sort();

  // What the ranges around `time` on `thread` say; "" where they say nothing. A layer is the innermost one; that of a
  // node of backward is the layer of the operator that it differentiates. Views last as long as this object.
  struct Place {
    std::string_view layer, phase;
  };
  Place at(std::int64_t thread, std::int64_t time) const;

  // Where iterations start: outermost ranges with such a name, of the thread that has the first of them.
  std::vector<std::int64_t> iterations() const;

 private:
  enum class Kind : std::uint8_t { Layer, Module, Iteration, Forward, Backward, Optimizer, Operator, Node };
  struct Range {
    std::int64_t thread = 0, start = 0, end = 0, sequence = -1;
    std::int32_t name = -1;   // of a layer, into names_
    std::int32_t outer = -1;  // the range that was open when this one began, into ranges_
    Kind kind = Kind::Layer;
  };

  void push(Range range, std::string_view name = "");
  void learn_layer(const Range& range, const std::vector<std::int32_t>& open);
  std::string_view layer_of(const Range& range) const;

  std::deque<Range> ranges_;  // as many as a file has operators
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int32_t> name_of_;
  std::unordered_map<std::int64_t, std::int32_t> layer_of_sequence_;  // in forward, into names_
  bool phases_ = false;  // one was seen that is not forward: without it, nobody knows what forward ends with
};

}  // namespace uvmsim
