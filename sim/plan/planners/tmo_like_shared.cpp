#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "plan/planners/reuse_distance.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct SharedOptions {
  std::string scope = "forward_backward";
  Bytes min_bytes{1 << 20};
  bool disjoint = true;

  static const Description& description() {
    using O = SharedOptions;
    static const Description d =
        Describe<O>("swapping by reuse distance, timed for links that others use too")
            .text("scope", &O::scope,
                  "intervals from the forward to the backward pass, or all; all when there are no phases",
                  {"forward_backward", "all"})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .flag("disjoint", &O::disjoint,
                  "whether sets that differ from GPU to GPU are tried as well, as in tmo_like_disjoint")
            .build();
    return d;
  }
};

// One way to make the plans of all GPUs.
struct Way {
  double budget = 1;     // share of device memory to fit into
  std::size_t gpus = 1;  // copies are timed for links shared by this many
  bool dealt = false;    // the GPUs deal the candidates out among themselves

  std::string text() const {
    return "1/" + std::to_string(gpus) + " of the links, " + (budget < 1 ? "0.95" : "all") + " of the memory, " +
           (dealt ? "disjoint" : "the same") + " sets";
  }
};

// tmo_like_online's comes first: where nothing is faster, it stays.
std::vector<Way> ways_for(std::size_t gpus, bool disjoint) {
  std::vector<Way> ways;
  for (const bool dealt : {false, true})
    for (const double budget : {0.95, 1.0})
      for (const std::size_t sharing : std::set<std::size_t>{1, std::min<std::size_t>(2, gpus), gpus})
        if (!dealt || (disjoint && gpus > 1)) ways.push_back({budget, sharing, dealt});
  return ways;
}

// `profile` on links of which it has 1/`gpus`.
Profile with_share(Profile profile, std::size_t gpus) {
  const auto n = static_cast<std::int64_t>(gpus);
  profile.links.in = profile.links.in / n;
  profile.links.out = profile.links.out / n;
  for (Interval& i : profile.intervals)
    i.slack = i.gap - profile.links.out_time(i.bytes) - profile.links.in_time(i.bytes);
  return profile;
}

// Planning for copies that nobody disturbs brings tensors back late where links are shared, and planning for too small
// a share brings them back too early to leave: which is better is measured.
class TmoLikeShared final : public With<Planner, SharedOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    const std::vector<Way> ways = ways_for(gpus.size(), options_.disjoint);
    std::vector<std::vector<Plan>> sets;
    for (const Way& way : ways) sets.push_back(plans_of(gpus, way));
    const std::vector<Evaluation> found = services.evaluate(sets);
    const auto best = std::ranges::min_element(found, {}, &Evaluation::time) - found.begin();
    const auto at = static_cast<std::size_t>(best);
    for (Plan& plan : sets[at]) {
      plan.why += "; " + ways[at].text();
      if (found[at].time < kNever)
        plan.why += ": " + seconds_text(found[at].time) + " an iteration, the fastest of " +
                    std::to_string(ways.size()) + " (" + seconds_text(found[0].time) + " as tmo_like_online plans)";
    }
    return std::move(sets[at]);
  }

 private:
  std::vector<Plan> plans_of(std::span<const Profile> gpus, const Way& way) const {
    const ReuseDistanceOptions options{.scope = options_.scope, .min_bytes = options_.min_bytes, .budget = way.budget};
    std::vector<Plan> plans;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const Profile profile = with_share(gpus[g], way.gpus);
      std::vector<std::size_t> order = candidates(profile, options);
      if (way.dealt) order = own_first(order, g, gpus.size());
      plans.push_back(reuse_distance_plan(profile, order, options, "tmo_like_shared"));
    }
    return plans;
  }
};

const bool kRegistered = add_plug_in<Planner, TmoLikeShared>(
    {.name = "tmo_like_shared",
     .summary = "tmo_like_online's choice, its copies in timed for a share of the links; the share, the budget and "
                "whether sets are disjoint as the simulation finds them fastest",
     .source = "ours; the choice as tmo_like_online",
     .on_hardware = kReplaysCopies});

}  // namespace
}  // namespace uvmsim
