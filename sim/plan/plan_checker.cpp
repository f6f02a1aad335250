#include "plan/plan_checker.h"

#include <algorithm>
#include <set>

#include "plan/codec.h"
#include "plan/kernel_class.h"
#include "plan/plan_walk.h"
#include "plan/reclaim.h"

namespace uvmsim {
namespace {

// What each action says of itself, against the iteration.
class ActionChecker {
 public:
  ActionChecker(const IterationGraph& graph, const PlanLimits& limits, PlanWalk::Report report)
      : graph_(graph), limits_(limits), report_(std::move(report)) {}

  // Whether the walk would make sense.
  bool check(const Plan& plan) {
    number_ = -1;
    if (!reclaim_policies().has(plan.reclaim)) error(reclaim_policies().unknown("", plan.reclaim).message);
    for (std::size_t n = 0; n < plan.actions.size(); ++n) {
      number_ = static_cast<std::int32_t>(n);
      std::visit([this](const auto& action) { check(action); }, plan.actions[n]);
    }
    number_ = -1;
    check(plan.variants);
    return !wrong_;
  }

 private:
  void error(std::string message) {
    wrong_ = true;
    report_(number_, std::move(message));
  }

  // Kernels from the last use to `kernel`, in an interval that may reach into the next iteration.
  std::int32_t position(const TensorInterval& i, std::int32_t kernel) const {
    const std::int32_t p = kernel - i.last_use;
    return p < 0 || (p == 0 && i.wraps()) ? p + (p < 0 ? graph_.shape.kernels : 0) : p;
  }

  bool interval(const TensorInterval& i) {
    if (i.tensor < 0 || static_cast<std::size_t>(i.tensor) >= graph_.tensors.size()) {
      error("the iteration has no tensor " + std::to_string(i.tensor));
      return false;
    }
    const GraphTensor& t = graph_.tensors[static_cast<std::size_t>(i.tensor)];
    const auto last = std::ranges::find(t.uses, i.last_use);
    const bool idle = last != t.uses.end() &&
                      (last + 1 != t.uses.end() ? *(last + 1) == i.next_use
                                                : i.tensor < graph_.shape.held && !t.freed && i.next_use == t.uses[0]);
    if (!idle) {
      error("tensor " + std::to_string(i.tensor) + " is not idle from kernel " + std::to_string(i.last_use) +
            " to kernel " + std::to_string(i.next_use));
      return false;
    }
    if (i.bytes != t.bytes)
      error("tensor " + std::to_string(i.tensor) + " holds " + std::to_string(t.bytes) + " bytes, not " +
            std::to_string(i.bytes));
    if (const auto [other, is_new] = intervals_.emplace(std::pair(i.tensor, i.last_use), number_); !is_new)
      error("tensor " + std::to_string(i.tensor) + " after kernel " + std::to_string(i.last_use) +
            " is what /actions/" + std::to_string(other->second) + " is about");
    return true;
  }

  // Copies out may start alongside the last use where it only reads (vDNN copies a feature map while its last forward
  // reader runs); else after it.
  void inside(const TensorInterval& i, const Trigger& t, const char* what, bool enters) {
    if (t.on == Trigger::On::Access) {
      if (!enters) error(std::string(what) + " cannot be on access");
      return;
    }
    const std::int32_t end = i.next_use - i.last_use + (i.wraps() ? graph_.shape.kernels : 0);
    const std::int32_t p = position(i, t.kernel);
    const bool before = t.on == Trigger::On::BeforeKernel;
    if (before && t.kernel == i.last_use && !enters && !writes(i.last_use, i.tensor)) return;
    if (before ? p <= 0 || p > end : p < 0 || p >= end) error(std::string(what) + " starts outside the interval");
  }

  bool writes(std::int32_t kernel, std::int32_t tensor) const {
    return std::ranges::binary_search(graph_.tensors[static_cast<std::size_t>(tensor)].writers, kernel);
  }

  void check(const Move& m) {
    if (!interval(m.of)) return;
    inside(m.of, m.out.at, "the copy out", false);
    inside(m.of, m.in.at, "the copy in", true);
    if (!m.to.empty() && !limits_.nodes.empty() && !limits_.nodes.contains(m.to)) unknown_node(m.to);
    if (!m.codec.empty()) codec(m.codec, m.of);
  }
  void unknown_node(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [node, bytes] : limits_.nodes) names.push_back(node);
    error("the machine has no memory node \"" + name + "\"" + did_you_mean(name, names));
  }

  // The codec exists and takes the tensor; nullptr: there is none of this name.
  std::unique_ptr<Codec> codec(const std::string& name, const TensorInterval& of) {
    const auto* entry = codecs().find(name);
    if (entry == nullptr) {
      error(codecs().unknown("", name).message);
      return nullptr;
    }
    auto codec = entry->make();
    const GraphTensor& t = graph_.tensors[static_cast<std::size_t>(of.tensor)];
    const std::string kind = t.kind < graph_.kinds.size() ? graph_.kinds[t.kind] : "";
    if (!codec->allows({.kind = kind, .bytes = Bytes{t.bytes}}))
      error("codec " + name + " does not take tensors of kind \"" + kind + "\"");
    return codec;
  }

  void check(const Drop& d) {
    if (interval(d.of)) inside(d.of, d.at, "the drop", false);
  }
  void check(const Encode& e) {
    if (!interval(e.of)) return;
    inside(e.of, e.out, "the encoding", false);
    inside(e.of, e.in, "the decoding", true);
    const auto by = codec(e.codec, e.of);
    if (by != nullptr && by->engine() != CodecEngine::Sm && e.codec != "none")
      error("codec " + e.codec + " works elsewhere: what stays on the GPU is encoded by its SMs");
  }
  void check(const Recompute& r) {
    for (const TensorInterval& i : r.tensors) {
      if (!interval(i)) continue;
      const std::int32_t end = i.next_use - i.last_use + (i.wraps() ? graph_.shape.kernels : 0);
      const std::int32_t p = position(i, r.before);
      if (p <= 0 || p > end)
        error("kernel " + std::to_string(r.before) + " is not between the uses of tensor " + std::to_string(i.tensor));
    }
    for (const std::int32_t k : r.kernels)
      if (draws_without_seed(graph_.name_of(k)))
        error("kernel " + std::to_string(k) + " (" + graph_.name_of(k) +
              ") cannot run again: it draws random numbers, and only dropout keeps the seed that it drew with");
  }
  void check(const HostCompute& h) {
    for (const std::int32_t k : h.kernels)
      if (!on_host_.insert(k).second) error("kernel " + std::to_string(k) + " is on the host already");
  }

  void check(const std::vector<KernelVariant>& variants) {
    std::set<std::int32_t> chosen;
    for (const KernelVariant& v : variants) {
      const std::string kernel = "kernel " + std::to_string(v.kernel);
      if (v.kernel < 0 || v.kernel >= graph_.shape.kernels) {
        error("the iteration has no " + kernel);
        continue;
      }
      const auto ways = static_cast<std::int32_t>(graph_.variants_of(v.kernel).size());
      if (v.variant < 0 || v.variant >= ways)
        error(kernel + " has " + std::to_string(ways) + " launch variants, none is " + std::to_string(v.variant));
      if (!chosen.insert(v.kernel).second) error(kernel + " is given two variants");
      if (on_host_.contains(v.kernel)) error(kernel + " is given a variant, but it is on the host");
    }
  }

  const IterationGraph& graph_;
  const PlanLimits& limits_;
  PlanWalk::Report report_;
  std::int32_t number_ = 0;
  bool wrong_ = false;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> intervals_;  // (tensor, last use): its action
  std::set<std::int32_t> on_host_;
};

}  // namespace

PlanProof check_plan(const IterationGraph& graph, const Plan& plan, const PlanLimits& limits) {
  PlanProof proof;
  std::set<std::pair<std::int32_t, std::string>> said;
  const auto report = [&](std::int32_t action, std::string message) {
    if (!said.emplace(action, message).second) return;
    const std::string at = "gpu " + std::to_string(plan.gpu.value);
    proof.errors.push_back({action < 0 ? at : at + " /actions/" + std::to_string(action), std::move(message)});
  };
  if (!ActionChecker(graph, limits, report).check(plan)) return proof;
  PlanWalk walk(graph, plan, limits, report);
  walk.run();
  proof.peak = proof.later_peak = walk.peak();
  if (walk.go_on()) {  // intervals that reach into the next iteration begin in this one
    walk.run();
    proof.later_peak = walk.peak();
    proof.peak = std::max(proof.peak, proof.later_peak);
  }
  proof.nodes = walk.node_peaks();
  return proof;
}

}  // namespace uvmsim
