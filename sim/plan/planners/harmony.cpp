#include <algorithm>

#include "plan/planner.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct HarmonyOptions {
  bool peers = true;
  double budget = 0.95;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = HarmonyOptions;
    static const Description d =
        Describe<O>("swapping between GPUs that share a host")
            .flag("peers", &O::peers, "to the memory of other GPUs, where the machine lists it, before host memory")
            .number("budget", &O::budget, "share of device memory to fit into (assumed)", {0, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// What stands idle longest leaves until the iteration fits: weights and optimizer state as well as activations, dead
// contents without a copy. It goes to the memory of other GPUs first, over direct links, what is needed soonest before
// the rest; the neighbours of each GPU in turn, so that all serve alike. What they have no room for goes to the host.
// It comes back just in time, as early as memory allows.
//
// Harmony also chooses what runs where and in which order: it groups the micro-batches of a layer, so that its weights
// move once for all of them, and packs layers onto GPUs. Plans have the program's kernels, in its order: both are left
// out, and with them the larger part of Harmony's gain. Memory of peers counts by what the machine gives the node, not
// by what the peers' own plans leave.
// On hardware: peer access between the GPUs, and a runtime that has the schedule.
class Harmony final : public With<Planner, HarmonyOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    std::vector<Plan> plans;
    for (std::size_t g = 0; g < gpus.size(); ++g) plans.push_back(plan_of(gpus[g], g, gpus.size()));
    return plans;
  }

 private:
  std::vector<std::size_t> longest_idle_first(const Profile& profile) const {
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < profile.intervals.size(); ++n)
      if (profile.intervals[n].bytes >= options_.min_bytes.value) order.push_back(n);
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t n) {
      return std::pair(profile.intervals[n].dead, profile.intervals[n].gap);
    });
    return order;
  }

  // What is left of a peer's memory for one of the GPUs that use it.
  struct Peer {
    std::string name;
    std::int64_t left = 0;
  };
  std::vector<Peer> peers_of(const Profile& profile, std::size_t g, std::size_t gpus) const {
    std::vector<Peer> peers;
    for (const NodeLink& node : profile.nodes)
      if (options_.peers && node.kind == "gpu")
        peers.push_back({node.name, node.capacity.value / static_cast<std::int64_t>(gpus)});
    if (!peers.empty()) std::ranges::rotate(peers, peers.begin() + static_cast<std::ptrdiff_t>(g % peers.size()));
    return peers;
  }

  Plan plan_of(const Profile& profile, std::size_t g, std::size_t gpus) const {
    Plan plan = empty_plan(profile, "harmony");
    const auto limit = static_cast<std::int64_t>(options_.budget * static_cast<double>(profile.budget.value));
    LoadCurve curve(profile.graph->load);
    std::vector<std::size_t> taken = take_until_fits(profile, longest_idle_first(profile), limit, curve);
    std::ranges::stable_sort(taken, {}, [&](std::size_t n) { return profile.intervals[n].gap; });
    std::vector<Peer> peers = peers_of(profile, g, gpus);
    std::vector<Move> moves;
    std::int64_t to_peers = 0, to_host = 0;
    for (const std::size_t n : taken) {
      const Interval& i = profile.intervals[n];
      const Trigger out{Trigger::On::AfterKernel, i.last_use};
      if (i.dead) {
        plan.actions.push_back(Drop{of_interval(i), out});
        continue;
      }
      const auto peer = std::ranges::find_if(peers, [&](const Peer& p) { return p.left >= i.bytes; });
      Move& move = moves.emplace_back(Move{.of = of_interval(i), .out = {out}});
      (peer == peers.end() ? to_host : to_peers) += i.bytes;
      if (peer == peers.end()) continue;
      move.to = peer->name;
      peer->left -= i.bytes;
    }
    bring_back_early(0, limit, curve, moves);
    std::ranges::move(moves, std::back_inserter(plan.actions));
    plan.why = std::to_string(to_peers) + " bytes to peers, " + std::to_string(to_host) + " to the host, each way" +
               (peers.empty() ? "; no memory of peers" : "");
    conclude(profile, gpus, plan);
    return plan;
  }
};

const bool kRegistered = add_plug_in<Planner, Harmony>(
    {.name = "harmony",
     .summary = "what stands idle longest goes to other GPUs' memory, then to the host, until the iteration fits",
     .source = "Li et al., Harmony: Overcoming the Hurdles of GPU Memory Capacity to Train Massive DNN Models on "
               "Commodity Servers, VLDB 2022; grouping and packing left out"});

}  // namespace
}  // namespace uvmsim
