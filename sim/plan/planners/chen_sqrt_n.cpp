#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "plan/plan_checker.h"
#include "plan/planner.h"

namespace uvmsim {
namespace {

struct ChenOptions {
  int segments = 0;

  static const Description& description() {
    static const Description d = Describe<ChenOptions>("checkpoints and segments")
                                     .integer("segments", &ChenOptions::segments,
                                              "between checkpoints; 0: the square root of the places", {0, 100'000})
                                     .build();
    return d;
  }
};

// Checkpoints at about every sqrt(n)-th of the n places of the forward pass that one tensor crosses; what lies between
// two of them is dropped and made again, a segment at a time, when the backward pass comes to it.
class ChenSqrtN final : public With<Planner, ChenOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  // Kernels after which a segment may end: fewest tensors that the forward pass made and needs later are alive there.
  static std::vector<std::int32_t> places(const IterationGraph& graph, std::int32_t backward) {
    std::vector<int> crossing(static_cast<std::size_t>(backward) + 1);
    for (const GraphTensor& t : graph.tensors) {
      const auto last = std::ranges::lower_bound(t.uses, backward);  // uses of the forward pass end here
      if (t.writers.empty() || t.writers[0] >= backward || last == t.uses.begin() || *(last - 1) == t.writers[0])
        continue;
      ++crossing[static_cast<std::size_t>(t.writers[0])];
      --crossing[static_cast<std::size_t>(*(last - 1))];
    }
    for (std::size_t k = 1; k < crossing.size(); ++k) crossing[k] += crossing[k - 1];
    std::vector<std::int32_t> found;
    int fewest = std::numeric_limits<int>::max();
    for (std::int32_t k = 0; k < backward; ++k) {
      const int count = crossing[static_cast<std::size_t>(k)];
      if (count == 0 || count > fewest) continue;  // 0: the forward pass has not begun
      if (count < fewest) found.clear();
      fewest = count;
      found.push_back(k);
    }
    return found;
  }

  // What kernels [from, outer) make for the backward pass alone, and those of them that make it.
  static Recompute segment(const IterationGraph& graph, std::int32_t from, std::int32_t outer, std::int32_t backward) {
    Recompute r{.before = graph.shape.kernels};
    const auto inside = [&](std::int32_t k) { return k >= from && k < outer; };
    const auto temporary = [&](std::int32_t t) {
      const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(t)];
      return t >= graph.shape.held && !tensor.writers.empty() && inside(tensor.writers[0]) && tensor.outer <= backward;
    };
    std::set<std::int32_t> made;
    for (std::size_t t = static_cast<std::size_t>(graph.shape.held); t < graph.tensors.size(); ++t) {
      const GraphTensor& tensor = graph.tensors[t];
      const auto next = std::ranges::lower_bound(tensor.uses, backward);
      if (next == tensor.uses.end() || next == tensor.uses.begin() || tensor.writers.empty()) continue;
      if (!inside(tensor.writers[0]) || !inside(*(next - 1)) || *next - *(next - 1) < 2) continue;
      const auto ordinal = static_cast<std::int32_t>(t);
      r.tensors.push_back({ordinal, *(next - 1), *next, tensor.bytes});
      r.before = std::min(r.before, *next);
      made.insert(ordinal);
    }
    for (std::int32_t k = from; k < outer; ++k)
      if (std::ranges::any_of(graph.uses_of(k), [&](const TensorUse& u) {
            return u.writes && (made.contains(u.tensor) || temporary(u.tensor));
          }))
        r.kernels.push_back(k);
    return r;
  }

  Plan plan_of(const Profile& profile) const {
    Plan plan = empty_plan(profile, "chen_sqrt_n");
    const IterationGraph& graph = *profile.graph;
    const std::int32_t backward = graph.first_kernel_of("backward");
    if (backward <= 0) {
      plan.why = "the iteration has no phase \"backward\": nothing is dropped";
      return plan;
    }
    const std::vector<std::int32_t> cuts = places(graph, backward);
    const auto wanted = options_.segments > 0 ? static_cast<std::size_t>(options_.segments)
                                              : static_cast<std::size_t>(std::lround(std::sqrt(cuts.size())));
    std::int32_t from = 0;
    for (std::size_t s = 0; s + 1 < wanted; ++s) {  // the last segment is kept: the backward pass begins with it
      const std::int32_t outer = cuts[(s + 1) * cuts.size() / wanted] + 1;
      Recompute r = segment(graph, from, outer, backward);
      if (!r.tensors.empty()) plan.actions.push_back(std::move(r));
      from = outer;
    }
    const PlanProof proof = check_plan(graph, plan, {});
    plan.feasible = proof.peak <= profile.budget.value;
    plan.why = std::to_string(plan.actions.size()) + " segments run again, " + std::to_string(proof.peak) +
               " bytes instead of " + std::to_string(profile.peak());
    return plan;
  }
};

const bool kRegistered = add_plug_in<Planner, ChenSqrtN>(
    {.name = "chen_sqrt_n",
     .summary = "drop activations between checkpoints and compute them again by segments",
     .source = "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016, section 3, with one level of "
               "segments"});

}  // namespace
}  // namespace uvmsim
