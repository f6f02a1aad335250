#include "plan/kernel_order.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace uvmsim {
namespace {

// How many steps that no kernel passes come before each kernel.
std::vector<std::int32_t> parts_of(const IterationGraph& graph) {
  std::vector<std::int32_t> parts;
  std::int32_t part = 0;
  for (const GraphStep& step : graph.steps) {
    if (step.kind == GraphStep::Kind::Kernel) parts.push_back(part);
    part += step.kind == GraphStep::Kind::Copy || step.kind == GraphStep::Kind::Collective ||
            step.kind == GraphStep::Kind::Launch || step.kind == GraphStep::Kind::Synchronize;
  }
  return parts;
}

// Who touched a tensor last.
struct Touched {
  std::int32_t writer = -1;
  std::vector<std::int32_t> readers;  // since
};

}  // namespace

KernelOrder::KernelOrder(const IterationGraph& graph) : needed_(graph.kernels.size()), part_(parts_of(graph)) {
  for (const GraphKernel& kernel : graph.kernels) free_ &= kernel.stream == graph.kernels.front().stream;
  std::vector<Touched> touched(graph.tensors.size());
  for (std::size_t k = 0; k < needed_.size(); ++k) {
    std::vector<std::int32_t>& needed = needed_[k];
    for (const TensorUse& use : graph.uses_of(static_cast<std::int32_t>(k))) {
      Touched& t = touched[static_cast<std::size_t>(use.tensor)];
      if (t.writer >= 0) needed.push_back(t.writer);
      if (use.writes) {
        needed.insert(needed.end(), t.readers.begin(), t.readers.end());
        t = {.writer = static_cast<std::int32_t>(k), .readers = {}};
      } else {
        t.readers.push_back(static_cast<std::int32_t>(k));
      }
    }
    std::ranges::sort(needed);
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  }
}

std::string KernelOrder::fault_of(std::span<const std::int32_t> order) const {
  const auto text = [](std::int32_t kernel) { return std::to_string(kernel); };
  if (order.size() != needed_.size())
    return "expected each of the " + std::to_string(needed_.size()) + " kernels once, found " +
           std::to_string(order.size());
  std::vector<std::int32_t> place(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t k = order[i];
    if (k < 0 || static_cast<std::size_t>(k) >= order.size()) return text(k) + " is no kernel of the iteration";
    std::int32_t& at = place[static_cast<std::size_t>(k)];
    if (at >= 0) return "kernel " + text(k) + " is listed twice";
    at = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t k = order[i];
    if (!free_ && place[i] != static_cast<std::int32_t>(i)) return "the kernels run on several streams";
    for (const std::int32_t n : needed_by(k))
      if (place[static_cast<std::size_t>(n)] > static_cast<std::int32_t>(i))
        return "kernel " + text(k) + " needs that kernel " + text(n) + " runs before it";
    if (part_[static_cast<std::size_t>(k)] != part_[i])
      return "kernel " + text(k) + " would pass a copy, a collective or a synchronisation";
  }
  return "";
}

std::vector<std::int32_t> KernelOrder::by_priority(std::span<const double> priority) const {
  std::vector<std::int32_t> order(needed_.size());
  std::iota(order.begin(), order.end(), 0);
  if (!free_) return order;
  std::vector<std::vector<std::int32_t>> next(needed_.size());
  std::vector<std::size_t> missing(needed_.size());
  for (std::size_t k = 0; k < needed_.size(); ++k) {
    missing[k] = needed_[k].size();
    for (const std::int32_t n : needed_[k]) next[static_cast<std::size_t>(n)].push_back(static_cast<std::int32_t>(k));
  }
  using Turn = std::tuple<std::int32_t, double, std::int32_t>;  // part, priority, kernel
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> ready;
  const auto add = [&](std::int32_t k) {
    ready.emplace(part_[static_cast<std::size_t>(k)], priority[static_cast<std::size_t>(k)], k);
  };
  for (std::size_t k = 0; k < needed_.size(); ++k)
    if (missing[k] == 0) add(static_cast<std::int32_t>(k));
  for (std::int32_t& place : order) {
    place = std::get<2>(ready.top());
    ready.pop();
    for (const std::int32_t n : next[static_cast<std::size_t>(place)])
      if (--missing[static_cast<std::size_t>(n)] == 0) add(n);
  }
  return order;
}

}  // namespace uvmsim
