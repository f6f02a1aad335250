#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "base/number_text.h"
#include "plan/plan_checker.h"
#include "plan/planner.h"

namespace uvmsim {
namespace {

struct ChenOptions {
  std::string split = "places";
  int segments = 0;
  Bytes segment_bytes{};
  int trials = 6;

  static const Description& description() {
    using O = ChenOptions;
    static const Description d =
        Describe<O>("checkpoints and segments")
            .text("split", &O::split,
                  "the forward pass into segments with as many places each, or into segments that drop as many bytes "
                  "each (Algorithm 3)",
                  {"places", "bytes"})
            .integer("segments", &O::segments, "with split places; 0: the square root of the places", {0, 100'000})
            .bytes("segment_bytes", &O::segment_bytes,
                   "with split bytes: a segment ends at the first place at which it drops more; 0: searched for")
            .integer("trials", &O::trials,
                     "values of segment_bytes, from the estimate by the square root of 2 down to it by the square "
                     "root of 2 up (6: dmlc/mxnet-memonger)",
                     {2, 1000})
            .build();
    return d;
  }
};

// Checkpoints at about every sqrt(n)-th of the n places of the forward pass that one tensor crosses; what lies between
// two of them is dropped and made again, a segment at a time, when the backward pass comes to it. With `split` bytes a
// checkpoint comes where more than this many bytes were dropped since the last one; of the values tried, that one is
// taken which runs the least again and keeps to the budget, or else the one with the lowest peak.
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

  struct Once {
    std::set<std::int32_t> kernels, tensors;
  };

  // Those of kernels [from, outer) that cannot run again, and what they make, which stays: they draw random numbers, or
  // read what such a kernel made and is freed by the backward pass.
  template <class Freed>
  static Once run_once(const IterationGraph& graph, std::int32_t from, std::int32_t outer, const Freed& freed) {
    Once once;
    for (std::int32_t k = from; k < outer; ++k) {
      const std::span<const TensorUse> uses = graph.uses_of(k);
      const auto lost = [&](const TensorUse& u) {
        return !u.overwrites && once.tensors.contains(u.tensor) && freed(u.tensor);
      };
      if (!draws_without_seed(graph.name_of(k)) && std::ranges::none_of(uses, lost)) continue;
      once.kernels.insert(k);
      for (const TensorUse& u : uses)
        if (u.writes) once.tensors.insert(u.tensor);
    }
    return once;
  }

  // What kernels [from, outer) make for the backward pass alone, and those of them that make it.
  static Recompute segment(const IterationGraph& graph, std::int32_t from, std::int32_t outer, std::int32_t backward) {
    Recompute r{.before = graph.shape.kernels};
    const auto inside = [&](std::int32_t k) { return k >= from && k < outer; };
    const auto temporary = [&](std::int32_t t) {
      const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(t)];
      return t >= graph.shape.held && !tensor.writers.empty() && inside(tensor.writers[0]) && tensor.outer <= backward;
    };
    const Once once = run_once(graph, from, outer, temporary);
    std::set<std::int32_t> made;
    for (std::size_t t = static_cast<std::size_t>(graph.shape.held); t < graph.tensors.size(); ++t) {
      const GraphTensor& tensor = graph.tensors[t];
      const auto next = std::ranges::lower_bound(tensor.uses, backward);
      if (next == tensor.uses.end() || next == tensor.uses.begin() || tensor.writers.empty()) continue;
      if (!inside(tensor.writers[0]) || !inside(*(next - 1)) || *next - *(next - 1) < 2) continue;
      const auto ordinal = static_cast<std::int32_t>(t);
      if (once.tensors.contains(ordinal)) continue;
      r.tensors.push_back({ordinal, *(next - 1), *next, tensor.bytes});
      r.before = std::min(r.before, *next);
      made.insert(ordinal);
    }
    for (std::int32_t k = from; k < outer; ++k)
      if (!once.kernels.contains(k) && std::ranges::any_of(graph.uses_of(k), [&](const TensorUse& u) {
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
    if (options_.split == "bytes") return by_bytes(profile, cuts, backward, plan);
    const auto wanted = options_.segments > 0 ? static_cast<std::size_t>(options_.segments)
                                              : static_cast<std::size_t>(std::lround(std::sqrt(cuts.size())));
    std::vector<std::int32_t> ends;
    for (std::size_t s = 0; s + 1 < wanted; ++s) ends.push_back(cuts[(s + 1) * cuts.size() / wanted]);
    return with_segments(profile, ends, backward, std::move(plan)).plan;
  }

  struct Trial {
    Plan plan;
    std::int64_t peak = 0;
    Duration again{};  // of kernels
  };

  // Segments end after the kernels `ends`; the last one, behind these, is kept: the backward pass begins with it.
  static Trial with_segments(const Profile& profile, const std::vector<std::int32_t>& ends, std::int32_t backward,
                             Plan plan) {
    const IterationGraph& graph = *profile.graph;
    Trial trial;
    std::int32_t from = 0;
    for (const std::int32_t end : ends) {
      Recompute r = segment(graph, from, end + 1, backward);
      for (const std::int32_t k : r.kernels) trial.again += graph.kernels[static_cast<std::size_t>(k)].duration;
      if (!r.tensors.empty()) plan.actions.push_back(std::move(r));
      from = end + 1;
    }
    trial.peak = check_plan(graph, plan, {}).peak;
    plan.feasible = trial.peak <= profile.budget.value;
    plan.why = std::to_string(plan.actions.size()) + " segments run again, " + bytes_text(trial.peak) + " instead of " +
               bytes_text(profile.peak());
    trial.plan = std::move(plan);
    return trial;
  }

  // --- segments of as many bytes

  // Of what the forward pass makes for the backward pass, by the kernel that makes it.
  static std::vector<std::int64_t> bytes_made(const IterationGraph& graph, std::int32_t backward) {
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(backward));
    for (std::size_t t = static_cast<std::size_t>(graph.shape.held); t < graph.tensors.size(); ++t) {
      const GraphTensor& tensor = graph.tensors[t];
      if (!tensor.writers.empty() && tensor.writers[0] < backward && tensor.outer > backward)
        bytes[static_cast<std::size_t>(tensor.writers[0])] += tensor.bytes;
    }
    return bytes;
  }

  struct Split {
    std::vector<std::int32_t> ends{};
    std::int64_t kept = 0, largest = 0;  // bytes of the checkpoints; of the segment that drops most
  };

  // Algorithm 3: a segment ends at the first of `cuts` at which it has made more than `most` bytes.
  static Split split(const std::vector<std::int64_t>& made, const std::vector<std::int32_t>& cuts, std::int64_t most) {
    Split s;
    std::int64_t segment = 0;
    std::int32_t from = 0;
    for (const std::int32_t cut : cuts) {
      for (std::int32_t k = from; k <= cut; ++k) segment += made[static_cast<std::size_t>(k)];
      from = cut + 1;
      s.largest = std::max(s.largest, segment);
      if (segment <= most) continue;
      s.kept += made[static_cast<std::size_t>(cut)];
      s.ends.push_back(cut);
      segment = 0;
    }
    return s;
  }

  Plan by_bytes(const Profile& profile, const std::vector<std::int32_t>& cuts, std::int32_t backward,
                const Plan& empty) const {
    const std::vector<std::int64_t> made = bytes_made(*profile.graph, backward);
    if (options_.segment_bytes.value > 0)
      return with_segments(profile, split(made, cuts, options_.segment_bytes.value).ends, backward, empty).plan;
    const Split all = split(made, cuts, 0);  // each place is a checkpoint
    const double estimate = std::sqrt(static_cast<double>(all.kept) * static_cast<double>(all.largest));
    std::optional<Trial> best;
    const auto key = [](const Trial& t) {
      return std::tuple(!t.plan.feasible, t.plan.feasible ? t.again : Duration{}, t.peak);
    };
    for (int n = 0; n < options_.trials; ++n) {
      const double power = static_cast<double>(n) / (options_.trials - 1) - 0.5;
      const auto most = static_cast<std::int64_t>(estimate * std::pow(2, power));
      Trial trial = with_segments(profile, split(made, cuts, most).ends, backward, empty);
      trial.plan.why += ", segments of " + bytes_text(most);
      if (!best || key(trial) < key(*best)) best = std::move(trial);
    }
    return best->plan;
  }
};

const bool kRegistered = add_plug_in<Planner, ChenSqrtN>(
    {.name = "chen_sqrt_n",
     .summary = "drop activations between checkpoints and recompute them by segments",
     .source = "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016, section 3, with one level of "
               "segments; Algorithm 3 for segments by bytes",
     .on_hardware = "torch.utils.checkpoint, or another framework's recomputation of a block of layers"});

}  // namespace
}  // namespace uvmsim
