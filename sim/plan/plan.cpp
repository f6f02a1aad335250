#include "plan/plan.h"

#include <algorithm>

namespace uvmsim {

std::vector<TensorInterval> intervals_of(const Action& action) {
  if (const auto* recompute = std::get_if<Recompute>(&action)) return recompute->tensors;
  if (std::holds_alternative<HostCompute>(action)) return {};
  return {std::visit(
      [](const auto& a) -> TensorInterval {
        if constexpr (requires { a.of; }) return a.of;
        return {};
      },
      action)};
}

std::vector<std::int32_t> dropped_again(const Recompute& segment) {
  std::vector<std::int32_t> tensors;
  if (segment.keep == Recompute::Keep::Use)
    for (const TensorInterval& t : segment.tensors) tensors.push_back(t.tensor);
  tensors.insert(tensors.end(), segment.drop_again.begin(), segment.drop_again.end());
  return tensors;
}

std::int64_t workspace_of(const IterationGraph& graph, const KernelVariant& v) {
  return held_bytes(graph.variants_of(v.kernel)[static_cast<std::size_t>(v.variant)].workspace);
}

std::set<std::int32_t> kernels_on_host(const Plan& plan) {
  std::set<std::int32_t> kernels;
  for (const Action& action : plan.actions)
    if (const auto* h = std::get_if<HostCompute>(&action)) kernels.insert(h->kernels.begin(), h->kernels.end());
  return kernels;
}

std::set<std::int32_t> tensors_on_host(const IterationGraph& graph, const std::set<std::int32_t>& on_host) {
  std::set<std::int32_t> tensors;
  for (const std::int32_t k : on_host)
    for (const TensorUse& use : graph.uses_of(k)) {
      const GraphTensor& t = graph.tensors[static_cast<std::size_t>(use.tensor)];
      if (use.tensor >= graph.shape.held && t.freed &&
          std::ranges::all_of(t.uses, [&](std::int32_t user) { return on_host.contains(user); }))
        tensors.insert(use.tensor);
    }
  const auto used_on_gpu = [&](UseSpan uses) {
    for (const TensorUse& use : graph.uses_of(uses)) tensors.erase(use.tensor);
  };
  for (const GraphCopy& copy : graph.copies) used_on_gpu(copy.uses);
  for (const GraphCollective& collective : graph.collectives) used_on_gpu(collective.uses);
  return tensors;
}

}  // namespace uvmsim
