#include <algorithm>
#include <map>
#include <numeric>

#include "base/number_text.h"
#include "base/user_error.h"
#include "plan/kernel_order.h"
#include "plan/planners/in_parts.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct HarmonyOptions {
  bool peers = true;
  int micro_batches = 0;
  int pack = 1;
  double budget = 0.95;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = HarmonyOptions;
    static const Description d =
        Describe<O>("swapping between GPUs that share a host")
            .flag("peers", &O::peers,
                  "whether tensors go to the memory of other GPUs, where the machine lists it, before host memory")
            .integer(
                "micro_batches", &O::micro_batches,
                "parts of the batch; those of a pack of layers run one after the other; 0: as many of 1, 2, 4, ... "
                "as make the iteration fastest by the planner's model",
                {0, 1024})
            .integer("pack", &O::pack, "layers of a pack", {1, 100'000}, "layers")
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
// Micro-batches are grouped: each runs through a pack of layers before any goes on to the next pack, so that the pack's
// weights come once for all of them, and a gradient is summed as soon as it is made.
//
// Harmony also chooses which layers run on which GPU: here each GPU has the whole network. Memory of peers counts by
// what the machine gives the node, not by what the peers' own plans leave.
// On hardware: peer access between the GPUs, and a runtime that has the schedule.
class Harmony final : public With<Planner, HarmonyOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    std::vector<Plan> plans;
    int parts = options_.micro_batches;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      std::string why;
      const auto in = [&](int n) { return in_groups(gpus[g], n, g, gpus.size(), services, why); };
      std::optional<PlanInParts> found = parts > 0 ? in(parts) : fastest_in_parts(in, kMostParts);
      if (!found) throw UserError("harmony", {{"/plan/micro_batches", why}});
      parts = found->plan.sub_batches;  // all GPUs run one program
      plans.push_back(std::move(found->plan));
    }
    return plans;
  }

 private:
  static constexpr int kMostParts = 64;  // that are tried (assumed)

  std::optional<PlanInParts> in_groups(const Profile& profile, int parts, std::size_t g, std::size_t gpus,
                                       PlanServices& services, std::string& why) const {
    if (parts == 1) return PlanInParts{profile, plan_of(profile, g, gpus)};
    const std::optional<Profile> split = services.rewritten(profile, parts, {}, why);
    if (!split) return std::nullopt;
    const std::vector<std::int32_t> order = grouped(*split->graph);
    std::optional<Profile> grouped = services.rewritten(profile, parts, order, why);
    if (!grouped) return std::nullopt;
    Plan plan = plan_of(*grouped, g, gpus);
    plan.sub_batches = parts;
    plan.order = order;
    plan.why += "; groups of " + std::to_string(parts) + " micro-batches, whose arithmetic goes by waves of CTAs";
    return PlanInParts{std::move(*grouped), std::move(plan)};
  }

  // By packs of layers, forward and then backward; of a pack by micro-batch. What is of no layer goes with what is
  // before it.
  std::vector<std::int32_t> grouped(const IterationGraph& graph) const {
    struct Place {
      std::int32_t stage = 0, pass = 0, kernel = 0;
      auto operator<=>(const Place&) const = default;
    };
    const auto phase_of = [&](std::int32_t k) -> std::string {
      const std::int32_t phase = graph.kernels[static_cast<std::size_t>(k)].phase;
      return phase < 0 ? "" : graph.phases[static_cast<std::size_t>(phase)];
    };
    std::map<std::int32_t, std::int32_t> packs;  // of layers, in the order of their forward passes
    std::vector<Place> places;
    std::string before;
    Place now;
    for (std::int32_t k = 0; k < graph.shape.kernels; ++k) {
      const std::string phase = phase_of(k);
      if (phase == "forward" && before == "backward") ++now.pass;
      const std::int32_t layer = graph.kernels[static_cast<std::size_t>(k)].layer;
      if (phase == "forward" && layer >= 0)
        packs.try_emplace(layer, static_cast<std::int32_t>(packs.size()) / options_.pack);
      const auto pack = packs.find(layer);
      if (phase == "optimizer")
        now.stage = 2 * graph.shape.kernels;
      else if (phase == "backward" && before == "forward")
        now.stage = graph.shape.kernels;  // the loss
      else if (phase == "forward" && before != "forward")
        now.stage = 0;
      if (phase != "optimizer" && pack != packs.end())
        now.stage = phase == "backward" ? 2 * graph.shape.kernels - 1 - pack->second : pack->second;
      now.kernel = k;
      places.push_back(now);
      before = phase;
    }
    std::vector<Place> sorted = places;
    std::ranges::sort(sorted);
    std::vector<double> priority(places.size());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      priority[static_cast<std::size_t>(sorted[i].kernel)] = static_cast<double>(i);
    return KernelOrder(graph).by_priority(priority);
  }

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
    if (!peers.empty())
      std::rotate(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(g % peers.size()), peers.end());
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
    plan.why = bytes_text(to_peers) + " to peers, " + bytes_text(to_host) + " to the host, each way" +
               (peers.empty() ? "; no memory of peers" : "");
    conclude(profile, gpus, plan);
    return plan;
  }
};

const bool kRegistered = add_plug_in<Planner, Harmony>(
    {.name = "harmony",
     .summary = "groups of micro-batches; what has been idle longest goes to other GPUs' memory, then to the host",
     .source = "Li et al., Harmony: Overcoming the Hurdles of GPU Memory Capacity to Train Massive DNN Models on "
               "Commodity Servers, VLDB 2022; layers are not placed on GPUs",
     .on_hardware =
         "a runtime that runs layers of micro-batches as tasks, peer copies between GPUs, and pinned host memory"});

}  // namespace
}  // namespace uvmsim
