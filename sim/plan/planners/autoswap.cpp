#include <algorithm>
#include <numeric>

#include "base/number_text.h"
#include "plan/feature_maps.h"

namespace uvmsim {
namespace {

struct AutoswapOptions {
  std::string score = "swdoa";
  std::string mode = "stick_to_limit";
  double limit = 0;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = AutoswapOptions;
    static const Description d =
        Describe<O>("swapping of blocks that are idle at the peak")
            .text("score", &O::score,
                  "score of a block: its duration of absence, that times its size, the excess over the limit during "
                  "its gap, the "
                  "same after each choice anew, or the sum of its ranks by these four",
                  {"doa", "aoa", "wdoa", "swdoa", "vote"})
            .text("mode", &O::mode,
                  "keep to the limit and wait for copies, or never wait and let the limit move: the block is there "
                  "until its copy out ends and from when its copy in starts",
                  {"stick_to_limit", "no_overhead"})
            .number("limit", &O::limit, "share of the load's peak to come down to; 0: the GPU's memory", {0, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller blocks stay (assumed: 1 MB, as the code of SINGA)")
            .build();
    return d;
  }
};

// When the bytes of a chosen interval are away, in times since the iteration's begin.
struct Absence {
  std::size_t interval = 0;
  Time from{}, to{};
};

// Candidates are blocks that are idle at the peak of the load; the one with the best score is taken, until the peak is
// below the limit. Copies out run first in, first out from the last uses on; copies in are placed from the back, the
// latest first, so that they do not overlap. The paper finds the best mixture of scores by Bayesian optimisation;
// `vote` sums ranks.
//
// On hardware: a framework that sees every malloc, free, read and write of its blocks (SINGA's SwapGPU device).
class Autoswap final : public With<Planner, AutoswapOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  using Scores = std::vector<double>;  // by candidate

  Plan plan_of(const Profile& profile) const {
    Plan plan = empty_plan(profile, "autoswap");
    const std::int64_t limit =
        options_.limit > 0 ? std::min(profile.budget.value,
                                      static_cast<std::int64_t>(options_.limit * static_cast<double>(profile.peak())))
                           : profile.budget.value;
    const std::vector<std::size_t> chosen = choose(profile, limit);
    if (options_.mode == "no_overhead") return without_overhead(profile, chosen, limit, std::move(plan));
    swap_intervals(profile, chosen, 0, plan);
    keep_to(profile, limit, plan);
    plan.why = moved_text(plan) + ", for a limit of " + bytes_text(limit);
    prove(profile, plan);
    return plan;
  }

  // --- the choice

  std::vector<std::size_t> choose(const Profile& profile, std::int64_t limit) const {
    std::vector<std::size_t> candidates, chosen;
    for (std::size_t n = 0; n < profile.intervals.size(); ++n)
      if (profile.intervals[n].bytes >= options_.min_bytes.value) candidates.push_back(n);
    std::vector<std::int64_t> load = profile.graph->load;
    Scores scores = scores_of(profile, candidates, load, limit);
    while (!load.empty()) {
      const auto peak = std::ranges::max_element(load);
      if (*peak <= limit) break;
      const auto at = static_cast<std::int32_t>(peak - load.begin());
      if (options_.score == "swdoa") scores = scores_of(profile, candidates, load, limit);
      std::size_t best = candidates.size();
      for (std::size_t c = 0; c < candidates.size(); ++c)
        if (profile.intervals[candidates[c]].spans(at) && (best == candidates.size() || scores[c] > scores[best]))
          best = c;
      if (best == candidates.size()) break;  // nothing is idle at the peak
      take(profile.intervals[candidates[best]], load);
      chosen.push_back(candidates[best]);
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(best));
      scores.erase(scores.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return chosen;
  }

  static void take(const Interval& i, std::vector<std::int64_t>& load) {
    for (std::size_t k = 0; k < load.size(); ++k)
      if (i.spans(static_cast<std::int32_t>(k))) load[k] -= i.bytes;
  }

  Scores scores_of(const Profile& profile, const std::vector<std::size_t>& candidates,
                   const std::vector<std::int64_t>& load, std::int64_t limit) const {
    if (options_.score == "vote") {
      Scores sum(candidates.size());
      for (const char* score : {"doa", "aoa", "wdoa", "swdoa"}) {
        const Scores one = scores_by(profile, candidates, load, limit, score);
        std::vector<std::size_t> order(candidates.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, {}, [&](std::size_t c) { return one[c]; });
        for (std::size_t rank = 0; rank < order.size(); ++rank) sum[order[rank]] += static_cast<double>(rank);
      }
      return sum;
    }
    return scores_by(profile, candidates, load, limit, options_.score);
  }

  static Scores scores_by(const Profile& profile, const std::vector<std::size_t>& candidates,
                          const std::vector<std::int64_t>& load, std::int64_t limit, const std::string& score) {
    const std::vector<double> excess = excess_before(profile, load, limit);
    Scores scores;
    for (const std::size_t n : candidates) {
      const Interval& i = profile.intervals[n];
      const double absent = i.dead ? seconds(i.gap) : seconds(i.slack), bytes = static_cast<double>(i.bytes);
      if (score == "doa")
        scores.push_back(absent);
      else if (score == "aoa")
        scores.push_back(absent >= 0 ? absent * bytes : absent / bytes);
      else
        scores.push_back(excess_in(i, excess));
    }
    return scores;
  }

  // By kernel: the sum, over the kernels before it, of bytes over the limit times seconds.
  static std::vector<double> excess_before(const Profile& profile, const std::vector<std::int64_t>& load,
                                           std::int64_t limit) {
    std::vector<double> sum(load.size() + 1);
    for (std::size_t k = 0; k < load.size(); ++k) {
      const double over = static_cast<double>(std::max<std::int64_t>(0, load[k] - limit));
      sum[k + 1] = sum[k] + over * seconds(profile.graph->kernels[k].duration);
    }
    return sum;
  }
  static double excess_in(const Interval& i, const std::vector<double>& sum) {
    const auto last = static_cast<std::size_t>(i.last_use) + 1, next = static_cast<std::size_t>(i.next_use);
    return i.wraps ? sum.back() - sum[last] + sum[next] : sum[next] - sum[last];
  }

  // Copies in that would exceed the limit start later; allocations wait for copies out.
  static void keep_to(const Profile& profile, std::int64_t limit, Plan& plan) {
    LoadCurve load(load_under(profile, plan));
    std::ranges::stable_sort(plan.actions, {}, [](const Action& a) { return intervals_of(a).front().next_use; });
    for (Action& action : plan.actions) {
      auto* move = std::get_if<Move>(&action);
      if (move == nullptr) continue;
      const TensorInterval& of = move->of;
      const Interval i{.tensor = of.tensor,
                       .last_use = of.last_use,
                       .next_use = of.next_use,
                       .bytes = of.bytes,
                       .wraps = of.wraps()};
      const std::int32_t after = move->in.at.kernel;
      const std::int32_t earliest = i.wraps && after >= i.last_use ? 0 : after + 1;
      move->out.sync = Sync::Alloc;
      move->in.at = {Trigger::On::BeforeKernel, bring_back(i, earliest, limit, load)};
    }
  }

  // --- no overhead: a block is away only while no copy moves it

  // When the copies would run if nothing waited; blocks that would be away for no time are left out. Those that reach
  // into the next iteration stay: their copies would meet the other ones'.
  static std::vector<Absence> absences(const Profile& profile, std::vector<std::size_t> chosen) {
    std::erase_if(chosen, [&](std::size_t n) { return profile.intervals[n].wraps || profile.intervals[n].dead; });
    std::ranges::stable_sort(chosen, {}, [&](std::size_t n) { return profile.intervals[n].last_use; });
    std::vector<Absence> away;
    Time out{};
    for (const std::size_t n : chosen) {
      const Interval& i = profile.intervals[n];
      out = std::max(out, i.over) + profile.links.out_time(i.bytes);
      away.push_back({n, out, {}});
    }
    std::ranges::stable_sort(away, std::greater{},
                             [&](const Absence& a) { return profile.intervals[a.interval].next_use; });
    Time in = kNever;
    for (Absence& a : away) {
      const Interval& i = profile.intervals[a.interval];
      a.to = std::min(in, i.needed) - profile.links.in_time(i.bytes);
      if (a.to > a.from) in = a.to;
    }
    std::erase_if(away, [](const Absence& a) { return a.to <= a.from; });
    return away;
  }

  Plan without_overhead(const Profile& profile, const std::vector<std::size_t>& chosen, std::int64_t limit,
                        Plan plan) const {
    std::vector<std::int64_t> load = profile.graph->load;
    for (const Absence& a : absences(profile, chosen)) {
      const Interval& i = profile.intervals[a.interval];
      const std::int32_t from = profile.starts.first_from(a.from), back = profile.starts.last_until(a.to);
      if (from >= back) continue;  // it would be away during no kernel
      for (std::int32_t k = from; k < back; ++k) load[static_cast<std::size_t>(k)] -= i.bytes;
      plan.actions.push_back(Move{.of = of_interval(i),
                                  .out = {{Trigger::On::AfterKernel, i.last_use}, Sync::None},
                                  .in = {{Trigger::On::BeforeKernel, back}, Sync::Stream}});
    }
    const std::int64_t peak = load.empty() ? 0 : std::ranges::max(load);
    plan.why = moved_text(plan) + ", for a limit of " + bytes_text(limit) + "; the load without overhead is " +
               bytes_text(peak) + " instead of " + bytes_text(profile.peak());
    prove(profile, plan);
    plan.feasible = plan.feasible && peak <= profile.budget.value;
    return plan;
  }
};

const bool kRegistered = add_plug_in<Planner, Autoswap>(
    {.name = "autoswap",
     .summary = "swap blocks that are idle at the peak of the load, by score",
     .source =
         "Zhang et al., 2019: Efficient Memory Management for GPU-based Deep Learning Systems (arXiv 1903.06631), "
         "AutoSwap; apache/singa, swap_gpu.cc",
     .on_hardware = "a framework that sees mallocs, frees and accesses of its blocks"});

}  // namespace
}  // namespace uvmsim
