#include "plan/planners/host_optimizer.h"

#include <algorithm>
#include <map>
#include <utility>

namespace uvmsim {
namespace {

class Builder {
 public:
  Builder(const IterationGraph& graph, const HostOptimizerOptions& options,
          const std::function<bool(std::int32_t)>& takes)
      : graph_(graph), options_(options), takes_(takes) {
    const auto between = [&](UseSpan uses, std::int32_t before) {
      for (const TensorUse& use : graph.uses_of(uses)) between_.emplace(use.tensor, before);
    };
    for (const GraphCopy& c : graph.copies) between(c.uses, c.before);
    for (const GraphCollective& c : graph.collectives) between(c.uses, c.before);
  }

  HostOptimizer run() {
    for (const std::vector<std::int32_t>& group : groups()) {
      if (!may_move(group)) continue;
      found_.actions.push_back(
          HostCompute{.kernels = group, .at = {Trigger::On::BeforeKernel, group.front()}, .cores = options_.cores});
      on_host_.insert(group.begin(), group.end());
      ++found_.groups;
    }
    const std::set<std::int32_t> never_here = tensors_on_host(graph_, on_host_);
    std::set<std::int32_t> operands;
    for (const std::int32_t k : on_host_)
      for (const TensorUse& use : graph_.uses_of(k))
        if (!never_here.contains(use.tensor)) operands.insert(use.tensor);
    for (const std::int32_t t : operands) move(t);
    return std::move(found_);
  }

 private:
  const GraphTensor& tensor(std::int32_t t) const { return graph_.tensors[static_cast<std::size_t>(t)]; }
  // Runs of the kernels, cut where no kernel to come uses an operand of one before.
  std::vector<std::vector<std::int32_t>> groups() const {
    std::vector<std::vector<std::int32_t>> groups;
    std::int32_t until = -1;  // the last kernel of the run that uses an operand of the group
    for (std::int32_t k = 0; k < graph_.shape.kernels; ++k) {
      if (!takes_(k)) continue;
      const bool goes_on = !groups.empty() && groups.back().back() == k - 1;
      if (!goes_on || k > until) groups.emplace_back();
      groups.back().push_back(k);
      for (const TensorUse& use : graph_.uses_of(k)) until = std::max(until, last_of_run(use.tensor, k));
    }
    return groups;
  }
  // Of the kernels that use `t`, the last of those after `k` between which and `k` all are taken, too.
  std::int32_t last_of_run(std::int32_t t, std::int32_t k) const {
    const std::vector<std::int32_t>& uses = tensor(t).uses;
    std::int32_t last = k;
    for (auto use = std::ranges::upper_bound(uses, k); use != uses.end() && takes_(*use); ++use) last = *use;
    return last;
  }

  bool may_move(const std::vector<std::int32_t>& group) const {
    if (group.front() == 0) return false;
    for (const std::int32_t k : group)
      for (const TensorUse& use : graph_.uses_of(k))
        if (use.tensor < graph_.shape.held ? tensor(use.tensor).freed : !tensor(use.tensor).freed) return false;
    return true;
  }

  // Out before the first of the CPU's kernels that use it one after the other, back after the last of them.
  void move(std::int32_t t) {
    const GraphTensor& of = tensor(t);
    found_.tensors.insert(t);
    const std::size_t uses = of.uses.size();
    const bool held = t < graph_.shape.held;
    const bool state = std::ranges::all_of(of.uses, [&](std::int32_t k) { return on_host_.contains(k); });
    const std::string& to = state ? options_.state : options_.parameters;
    if (state) {  // it leaves in the first iteration and stays there
      found_.state += of.bytes;
      found_.actions.push_back(Move{
          .of = {t, of.uses.back(), of.uses.front(), of.bytes}, .to = to, .out = {{Trigger::On::BeforeKernel, 0}}});
      return;
    }
    for (std::size_t u = 0; u < uses; ++u) {
      if (u + 1 == uses && !held) return;
      const std::int32_t last = of.uses[u], next = of.uses[(u + 1) % uses];
      const bool leaves = !on_host_.contains(last) && on_host_.contains(next);
      const bool returns = on_host_.contains(last) && !on_host_.contains(next);
      if (!leaves && !returns) continue;
      Move m{.of = {t, last, next, of.bytes}, .to = to, .out = {leaves_at(t, last, next)}};
      if (returns) m.in = {{Trigger::On::AfterKernel, last}};
      (leaves ? found_.out : found_.in) += of.bytes;
      found_.actions.push_back(m);
    }
  }
  // After the last use, or after the copy or collective behind it. What the CPU uses first in an iteration leaves when
  // that begins: the first iteration has it on the GPU.
  Trigger leaves_at(std::int32_t t, std::int32_t last, std::int32_t next) const {
    if (next <= last && !on_host_.contains(last)) return {Trigger::On::BeforeKernel, 0};
    if (between_.contains({t, last + 1})) return {Trigger::On::BeforeKernel, last + 1};
    return {Trigger::On::AfterKernel, last};
  }

  const IterationGraph& graph_;
  const HostOptimizerOptions& options_;
  const std::function<bool(std::int32_t)>& takes_;
  std::set<std::pair<std::int32_t, std::int32_t>> between_;  // (tensor, the kernel before which a copy uses it)
  std::set<std::int32_t> on_host_;
  HostOptimizer found_;
};

}  // namespace

HostOptimizer optimizer_on_host(const Profile& profile, const HostOptimizerOptions& options) {
  return on_host(profile, options, [&](std::int32_t k) {
    return profile.graph->kernels[static_cast<std::size_t>(k)].kind == KernelClass::Optimizer;
  });
}

HostOptimizer on_host(const Profile& profile, const HostOptimizerOptions& options,
                      const std::function<bool(std::int32_t)>& takes) {
  return Builder(*profile.graph, options, takes).run();
}

}  // namespace uvmsim
