#include <algorithm>
#include <optional>

#include "base/number_text.h"
#include "plan/planner.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct SentinelOptions {
  int layers = 0;
  int most_layers = 64;
  int trials = 3;
  std::string to;
  double budget = 1;
  Bytes min_bytes{64 << 10};

  static const Description& description() {
    using O = SentinelOptions;
    static const Description d =
        Describe<O>("migration by intervals of layers")
            .integer("layers", &O::layers, "layers in an interval; 0: by the model, then by trial", {0, 100'000},
                     "layers")
            .integer("most_layers", &O::most_layers, "the longest interval that the model tries (assumed)", {1, 1000},
                     "layers")
            .integer("trials", &O::trials,
                     "intervals tried after the first iteration, the best by the model; 1: none (assumed)", {1, 64})
            .text("to", &O::to, "the memory node that serves as slow memory; \"\": the nearest host memory")
            .number("budget", &O::budget, "share of device memory to fit into", {0, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// Tensors that live within one layer are short-lived and stay. The others move at the starts of intervals of k layers:
// what the next interval uses comes, the most used first; what neither this one nor the next uses leaves, as far as
// memory is short, first what stands idle longest (this order is assumed). k by a model:
// of those with which the tensors of two intervals fit and their copies in take no longer than the interval that runs
// meanwhile, the one with the shortest iteration; then by trial, after the first iteration, of the best few.
//
// The paper's other trial, whether to wait for late data or to use them in slow memory, is left out: kernels on
// explicit memory wait. So is its pool for short-lived tensors, which the allocator two_ended has with
// plan.device_memory=placed. On hardware: Sentinel's runtime; its profile of one step, by page faults, is the trace
// here.
class Sentinel final : public With<Planner, SentinelOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return best_plans(profile, gpus.size(), 1).front(); });
  }

  bool revises() const override { return options_.trials > 1 && options_.layers == 0; }

  // After the first iteration, the best of the model's best few in the simulation. Each GPU takes its n-th best.
  std::vector<Plan> revise(std::span<const Profile> gpus, std::span<const Plan> plans, const Observed& seen,
                           PlanServices& services) const override {
    if (seen.iteration != 0) return {};
    std::vector<std::vector<Plan>> sets;
    for (const Profile& profile : gpus) {
      std::vector<Plan> best = best_plans(profile, gpus.size(), static_cast<std::size_t>(options_.trials));
      sets.resize(std::max(sets.size(), best.size()));
      for (std::size_t n = 0; n < sets.size(); ++n) sets[n].push_back(best[std::min(n, best.size() - 1)]);
    }
    const std::vector<Evaluation> found = services.evaluate(sets);
    std::size_t fastest = 0;
    for (std::size_t n = 1; n < found.size(); ++n)
      if (found[n].time < found[fastest].time) fastest = n;
    if (std::ranges::equal(sets[fastest], plans)) return {};
    for (Plan& plan : sets[fastest])
      plan.why += "; the fastest of " + std::to_string(sets.size()) + " tried: " + seconds_text(found[fastest].time);
    return sets[fastest];
  }

 private:
  struct Candidate {
    Plan plan;
    bool fits = false, hides = false;
    std::int64_t most = 0;  // bytes held
    Duration time{};        // by the model
    // First those that fit, then those whose copies hide, then the fastest; of what does not fit the smallest.
    auto key() const { return std::tuple(!fits, fits ? 0 : most, !hides, time); }
  };

  std::int64_t limit(const Profile& profile) const {
    return static_cast<std::int64_t>(options_.budget * static_cast<double>(profile.budget.value));
  }

  // Of the candidates by the model, the best `count`.
  std::vector<Plan> best_plans(const Profile& profile, std::size_t gpus, std::size_t count) const {
    if (!options_.to.empty() && std::ranges::find(profile.nodes, options_.to, &NodeLink::name) == profile.nodes.end()) {
      Plan none = empty_plan(profile, "sentinel");
      none.why = "the machine has no memory node \"" + options_.to + "\"";
      conclude(profile, gpus, none);
      none.feasible = false;
      return {none};
    }
    std::vector<Candidate> candidates;
    const int layers = LayerRuns(*profile.graph).count();
    const int most = options_.layers > 0 ? options_.layers : std::min(layers, options_.most_layers);
    for (int k = options_.layers > 0 ? options_.layers : 1; k <= most; ++k) candidates.push_back(candidate(profile, k));
    std::ranges::stable_sort(candidates, {}, &Candidate::key);
    candidates.resize(std::min(candidates.size(), count));
    std::vector<Plan> plans;
    for (Candidate& c : candidates) {
      conclude(profile, gpus, c.plan);
      plans.push_back(std::move(c.plan));
    }
    return plans;
  }

  // An interval, away from the kernel `from` on and back before the kernel `back`: from one start of an interval of
  // layers to another one.
  struct Absence {
    const Interval* of = nullptr;
    std::int32_t from = 0, back = 0;
    std::int64_t uses = 0;  // by the kernels that it comes back for
  };

  Candidate candidate(const Profile& profile, int k) const {
    const LayerRuns intervals(*profile.graph, k);
    LoadCurve curve(profile.graph->load);
    const std::vector<Absence> away = leaves(profile, intervals, curve);
    Candidate c{.plan = empty_plan(profile, "sentinel")};
    std::vector<Duration> copies(static_cast<std::size_t>(intervals.count()));  // in, by interval
    std::int64_t bytes = 0;
    for (const Absence& a : away) {
      if (a.of->dead) {
        c.plan.actions.push_back(Drop{of_interval(*a.of), {Trigger::On::BeforeKernel, a.from}});
        continue;
      }
      bytes += a.of->bytes;
      copies[static_cast<std::size_t>(intervals.of(a.back))] += link_to(profile, options_.to).in_time(a.of->bytes);
      c.plan.actions.push_back(Move{.of = of_interval(*a.of),
                                    .to = options_.to,
                                    .out = {{Trigger::On::BeforeKernel, a.from}},
                                    .in = {{Trigger::On::BeforeKernel, a.back}}});
    }
    c.most = curve.most();
    c.fits = c.most <= limit(profile);
    c.hides = true;
    for (std::int32_t n = 0; n < intervals.count(); ++n)
      c.hides = c.hides && copies[static_cast<std::size_t>(n)] <= time_of(profile, intervals, n);
    c.time = estimated_time(profile, c.plan);
    c.plan.why = "intervals of " + std::to_string(k) + " layers, " + bytes_text(bytes) + " each way, " +
                 (c.hides ? "all hidden" : "not all hidden") + ", " + seconds_text(c.time) + " by the model";
    return c;
  }

  static Duration time_of(const Profile& profile, const LayerRuns& intervals, std::int32_t n) {
    const std::int32_t last = intervals.last(n);
    return profile.starts.reached(last) - profile.starts.reached(intervals.first(n)) +
           profile.graph->kernels[static_cast<std::size_t>(last)].duration;
  }

  // What leaves, so that `curve` fits if it can; what its interval uses most often comes back first.
  std::vector<Absence> leaves(const Profile& profile, const LayerRuns& intervals, LoadCurve& curve) const {
    std::vector<Absence> all, away;
    for (const Interval& i : profile.intervals) {
      const std::int32_t last = intervals.of(i.last_use), next = intervals.of(i.next_use);
      const std::int32_t apart = next - last + (i.wraps ? intervals.count() : 0);
      if (i.bytes < options_.min_bytes.value || apart < 3) continue;  // the next interval or the one after uses it
      const std::vector<std::int32_t>& uses = profile.graph->tensors[static_cast<std::size_t>(i.tensor)].uses;
      const auto first = std::ranges::lower_bound(uses, i.next_use);
      const auto outer = std::ranges::upper_bound(uses, intervals.last(next));
      all.push_back({&i, intervals.first((last + 1) % intervals.count()),
                     intervals.first((next + intervals.count() - 1) % intervals.count()), outer - first});
    }
    std::ranges::stable_sort(all, std::greater<>{}, [](const Absence& a) { return a.of->gap; });
    for (const Absence& a : all) {
      if (curve.most() <= limit(profile)) break;
      if (curve.most_between(a.from - 1, a.back) <= limit(profile)) continue;
      curve.free_between(a.from - 1, a.back, a.of->bytes);
      away.push_back(a);
    }
    std::ranges::stable_sort(away, std::greater<>{}, &Absence::uses);
    return away;
  }
};

const bool kRegistered = add_plug_in<Planner, Sentinel>(
    {.name = "sentinel",
     .summary = "long-lived tensors move at the starts of intervals of layers, whose length a model and trials choose",
     .source =
         "Ren et al., Sentinel: Efficient Tensor Migration and Allocation on Heterogeneous Memory Systems for Deep "
         "Learning, HPCA 2021; arXiv 1909.05182",
     .on_hardware =
         "a framework that counts accesses by page in its first step (the paper: TensorFlow), and slower memory"});

}  // namespace
}  // namespace uvmsim
