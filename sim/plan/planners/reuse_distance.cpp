#include "plan/planners/reuse_distance.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/number_text.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

std::int64_t distance(const Profile& profile, const Interval& i, const std::string& metric) {
  const std::int32_t kernels = i.next_use - i.last_use + (i.wraps ? profile.shape().kernels : 0);
  if (metric == "time") return i.gap.count();
  if (metric == "ops") return kernels;
  // Bytes that kernels in between touch: what a cache would have to hold.
  std::int64_t bytes = 0;
  for (const GraphTensor& t : profile.graph->tensors)
    bytes += t.bytes * std::ranges::count_if(t.uses, [&](std::int32_t k) { return i.spans(k); });
  return bytes;
}

template <class Options>
Describe<Options> describe_choice() {
  using O = ReuseDistanceOptions;
  return Describe<Options>("swapping by reuse distance")
      .text("metric", &O::metric, "what a reuse distance counts: kernels, time, or bytes touched in between",
            {"ops", "time", "bytes"})
      .text("order", &O::order, "largest distance first, or in the order of appearance (the first k tensors)",
            {"distance", "appearance"})
      .text("scope", &O::scope, "intervals from the forward to the backward pass, or all; all when there are no phases",
            {"forward_backward", "all"})
      .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
      .number("budget", &O::budget, "share of device memory to fit into; the rest is for what comes early (assumed)",
              {0, 1})
      .integer("prefetch_ops", &O::prefetch_ops,
               "copies in start this many kernels ahead; 0: as late as the link allows", {0, 1'000'000}, "kernels")
      .flag("skip_useless", &O::skip_useless, "take only intervals that cover a kernel over budget");
}

// The online heuristic of TMO, for each GPU alone.
class TmoLikeOnline final : public With<Planner, ReuseDistanceOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) {
      return reuse_distance_plan(profile, candidates(profile, options_), options_, "tmo_like_online");
    });
  }
};

struct DisjointOptions : ReuseDistanceOptions {
  bool enforce = false;

  static const Description& description() {
    using O = DisjointOptions;
    static const Description d =
        describe_choice<O>()
            .flag("enforce", &O::enforce,
                  "no two GPUs swap the same tensor between the same kernels, though a GPU's own may not suffice: the "
                  "rest is reclaimed on demand. The plan says what an iteration takes with disjoint sets and without")
            .build();
    return d;
  }
};

// Disjoint swapping: the GPUs deal the candidates out among themselves, so that each first swaps what the others do
// not. When a GPU's own are exhausted it goes on with theirs, unless disjointness is enforced.
class TmoLikeDisjoint final : public With<Planner, DisjointOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    if (options_.enforce) return enforced(gpus, services);
    std::vector<std::vector<std::size_t>> orders;
    for (std::size_t g = 0; g < gpus.size(); ++g)
      orders.push_back(own_first(candidates(gpus[g], options_), g, gpus.size()));
    return plans_of(gpus, orders);
  }

 private:
  std::vector<Plan> plans_of(std::span<const Profile> gpus, const std::vector<std::vector<std::size_t>>& orders) const {
    std::vector<Plan> plans;
    for (std::size_t g = 0; g < gpus.size(); ++g)
      plans.push_back(reuse_distance_plan(gpus[g], orders[g], options_, "tmo_like_disjoint"));
    say_what_is_common(plans);
    return plans;
  }

  std::vector<Plan> enforced(std::span<const Profile> gpus, PlanServices& services) const {
    std::vector<std::vector<Plan>> sets = {plans_of(gpus, disjoint_orders(gpus, options_)), {}};
    for (const Profile& profile : gpus)
      sets[1].push_back(reuse_distance_plan(profile, candidates(profile, options_), options_, "tmo_like_disjoint"));
    const std::vector<Evaluation> found = services.evaluate(sets);
    for (Plan& plan : sets[0]) plan.why += "; " + with_and_without(found[0].time, found[1].time);
    return std::move(sets[0]);
  }
};

const bool kOnline = add_plug_in<Planner, TmoLikeOnline>(
    {.name = "tmo_like_online",
     .summary = "swap from the largest reuse distance on until the iteration fits",
     .source = "reconstruction of Lin et al., Tensor Movement Orchestration in Multi-GPU Training Systems, HPCA 2023, "
               "from its abstract and an outline",
     .on_hardware = kReplaysCopies});
const bool kDisjoint = add_plug_in<Planner, TmoLikeDisjoint>(
    {.name = "tmo_like_disjoint",
     .summary = "as tmo_like_online, but GPUs swap disjoint sets of tensors as far as they can",
     .source = "reconstruction of Tensor Movement Orchestration, HPCA 2023, from its abstract and an outline",
     .on_hardware = kReplaysCopies});

}  // namespace

const Description& ReuseDistanceOptions::description() {
  static const Description d = describe_choice<ReuseDistanceOptions>().build();
  return d;
}

std::vector<std::size_t> candidates(const Profile& profile, const ReuseDistanceOptions& options) {
  const std::int32_t backward = profile.graph->first_kernel_of("backward");
  const bool all = options.scope == "all" || backward < 0;
  struct Candidate {
    std::int64_t key, bytes;
    std::size_t index;
  };
  std::vector<Candidate> found;
  for (std::size_t n = 0; n < profile.intervals.size(); ++n) {
    const Interval& i = profile.intervals[n];
    if (i.bytes < options.min_bytes.value) continue;
    if (!all && (i.wraps || i.last_use >= backward || i.next_use < backward)) continue;
    const bool appearance = options.order == "appearance";
    found.push_back({appearance ? -std::int64_t{i.last_use} : distance(profile, i, options.metric), i.bytes, n});
  }
  std::ranges::stable_sort(found, [](const Candidate& a, const Candidate& b) {
    return std::pair(a.key, a.bytes) > std::pair(b.key, b.bytes);
  });
  std::vector<std::size_t> order;
  for (const Candidate& c : found) order.push_back(c.index);
  return order;
}

std::vector<std::size_t> own_first(const std::vector<std::size_t>& order, std::size_t gpu, std::size_t gpus) {
  std::vector<std::size_t> own, others;
  for (std::size_t j = 0; j < order.size(); ++j) (j % gpus == gpu ? own : others).push_back(order[j]);
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

std::vector<std::vector<std::size_t>> disjoint_orders(std::span<const Profile> gpus,
                                                      const ReuseDistanceOptions& options) {
  std::vector<std::vector<std::size_t>> all, orders;
  std::set<std::size_t> taken;
  const auto take = [&](std::size_t g) {
    const auto budget = static_cast<std::int64_t>(options.budget * static_cast<double>(gpus[g].budget.value));
    for (const std::size_t n : choose(gpus[g], orders[g], budget, options.skip_useless)) taken.insert(n);
  };
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const std::vector<std::size_t>& order = all.emplace_back(candidates(gpus[g], options));
    orders.emplace_back();
    for (std::size_t j = g; j < order.size(); j += gpus.size()) orders[g].push_back(order[j]);
    take(g);
  }
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const std::set<std::size_t> own(orders[g].begin(), orders[g].end());
    for (const std::size_t n : all[g])
      if (!own.contains(n) && !taken.contains(n)) orders[g].push_back(n);
    take(g);
  }
  return orders;
}

std::string with_and_without(Duration with, Duration without) {
  const auto text = [](Duration time) { return time < kNever ? seconds_text(time) : "none"; };
  return text(with) + " an iteration with disjoint sets, " + text(without) + " with tmo_like_online's";
}

void say_what_is_common(std::span<Plan> plans) {
  std::map<std::tuple<std::int32_t, std::int32_t>, int> takers;  // by tensor and last use
  const auto key = [](const TensorInterval& i) { return std::tuple(i.tensor, i.last_use); };
  for (const Plan& plan : plans)
    for (const Action& action : plan.actions)
      if (const auto* move = std::get_if<Move>(&action)) ++takers[key(move->of)];
  for (Plan& plan : plans) {
    int moves = 0, common = 0;
    std::int64_t bytes = 0;
    for (const Action& action : plan.actions) {
      const auto* move = std::get_if<Move>(&action);
      if (move == nullptr) continue;
      ++moves;
      if (takers[key(move->of)] == 1) continue;
      ++common;
      bytes += move->of.bytes;
    }
    plan.why += "; " + std::to_string(common) + " of " + std::to_string(moves) + " intervals are other GPUs' too, " +
                bytes_text(bytes);
  }
}

std::vector<std::size_t> choose(const Profile& profile, const std::vector<std::size_t>& order, std::int64_t budget,
                                bool skip_useless) {
  std::vector<std::int64_t> load = profile.graph->load;
  std::vector<std::size_t> chosen;
  for (const std::size_t n : order) {
    if (std::ranges::none_of(load, [&](std::int64_t bytes) { return bytes > budget; })) break;
    const Interval& i = profile.intervals[n];
    bool useful = !skip_useless;
    for (std::int32_t k = 0; k < profile.shape().kernels && !useful; ++k)
      useful = i.spans(k) && load[static_cast<std::size_t>(k)] > budget;
    if (!useful) continue;
    for (std::int32_t k = 0; k < profile.shape().kernels; ++k)
      if (i.spans(k)) load[static_cast<std::size_t>(k)] -= i.bytes;
    chosen.push_back(n);
  }
  return chosen;
}

Plan reuse_distance_plan(const Profile& profile, const std::vector<std::size_t>& order,
                         const ReuseDistanceOptions& options, const std::string& planner) {
  Plan plan = empty_plan(profile, planner);
  const auto budget = static_cast<std::int64_t>(options.budget * static_cast<double>(profile.budget.value));
  const std::vector<std::size_t> chosen = choose(profile, order, budget, options.skip_useless);
  swap_intervals(profile, chosen, options.prefetch_ops, plan);
  finish(profile, plan);
  std::int64_t bytes = 0;
  for (const std::size_t n : chosen) bytes += profile.intervals[n].bytes;
  plan.why = std::to_string(chosen.size()) + " of " + std::to_string(order.size()) + " candidate intervals, " +
             bytes_text(bytes) + " each way";
  return plan;
}

}  // namespace uvmsim
