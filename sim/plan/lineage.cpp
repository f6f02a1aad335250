#include "plan/lineage.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace uvmsim {
namespace {

// The first kernel after `kernel` that writes to the tensor.
std::int32_t next_writer(const IterationGraph& graph, const GraphTensor& tensor, std::int32_t kernel) {
  const auto next = std::ranges::upper_bound(tensor.writers, kernel);
  return next == tensor.writers.end() ? graph.shape.kernels : *next;
}

}  // namespace

Lineage::Lineage(const IterationGraph& graph)
    : graph_(graph), backward_(graph.first_kernel_of("backward")), makings_(graph.tensors.size()) {
  std::vector<std::int32_t> order;  // by the last kernel of the forward pass that writes to them: inputs come first
  for (std::int32_t t = 0; static_cast<std::size_t>(t) < makings_.size(); ++t) {
    makings_[static_cast<std::size_t>(t)] = making(t);
    if (!of(t).kernels.empty()) order.push_back(t);
  }
  std::ranges::stable_sort(order, {}, [&](std::int32_t t) { return of(t).kernels.back(); });
  for (const std::int32_t t : order) limit(t);
}

Making Lineage::making(std::int32_t tensor) const {
  const GraphTensor& t = graph_.tensors[static_cast<std::size_t>(tensor)];
  const std::vector<std::int32_t> writers(t.writers.begin(), std::ranges::lower_bound(t.writers, backward_));
  if (tensor < graph_.shape.held || writers.empty() || !graph_.overwrites(writers.front(), tensor)) return {};
  Making m{.kernels = writers, .until = next_writer(graph_, t, backward_ - 1)};
  std::set<std::int32_t> inputs;
  for (const std::int32_t k : m.kernels) {
    if (draws_without_seed(graph_.name_of(k))) return {};
    m.time += graph_.kernels[static_cast<std::size_t>(k)].duration;
    for (const TensorUse& use : graph_.uses_of(k)) {
      if (use.tensor == tensor) continue;
      m.until = std::min(m.until, next_writer(graph_, graph_.tensors[static_cast<std::size_t>(use.tensor)], k));
      if (!use.overwrites) inputs.insert(use.tensor);
    }
  }
  m.inputs.assign(inputs.begin(), inputs.end());
  return m;
}

// An input is there as long as it has memory, or can be made again itself. What may be dropped is taken for dropped.
void Lineage::limit(std::int32_t tensor) {
  Making& m = makings_[static_cast<std::size_t>(tensor)];
  for (const std::int32_t input : m.inputs) {
    const GraphTensor& of_input = graph_.tensors[static_cast<std::size_t>(input)];
    if (!of(input).kernels.empty())
      m.until = std::min(m.until, of(input).until);
    else if (of_input.freed)
      m.until = std::min(m.until, of_input.outer - 1);
  }
}

bool Lineage::allocated(std::int32_t tensor, std::int32_t kernel) const {
  const GraphTensor& t = graph_.tensors[static_cast<std::size_t>(tensor)];
  return !t.freed || kernel < t.outer;
}

std::vector<std::int32_t> Lineage::kernels_for(std::span<const std::int32_t> tensors, std::int32_t before,
                                               const std::function<bool(std::int32_t)>& away) const {
  std::set<std::int32_t> made(tensors.begin(), tensors.end()), kernels;
  std::vector<std::int32_t> open(tensors.begin(), tensors.end());
  while (!open.empty()) {
    const Making& m = of(open.back());
    open.pop_back();
    kernels.insert(m.kernels.begin(), m.kernels.end());
    for (const std::int32_t input : m.inputs)
      if ((away(input) || !allocated(input, before)) && made.insert(input).second) open.push_back(input);
  }
  return {kernels.begin(), kernels.end()};
}

std::vector<std::size_t> recomputable(const Profile& profile, const Lineage& lineage, Bytes least) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < profile.intervals.size(); ++n) {
    const Interval& i = profile.intervals[n];
    const Making& m = lineage.of(i.tensor);
    if (!m.kernels.empty() && !i.wraps && !i.dead && i.bytes >= least.value && i.next_use >= lineage.backward() &&
        i.next_use <= m.until && i.last_use >= m.kernels.back())
      found.push_back(n);
  }
  std::ranges::stable_sort(found, {}, [&](std::size_t n) { return profile.intervals[n].last_use; });
  return found;
}

}  // namespace uvmsim
