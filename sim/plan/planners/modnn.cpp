#include <algorithm>
#include <map>
#include <set>

#include "base/user_error.h"
#include "plan/feature_maps.h"
#include "plan/kernel_ways.h"
#include "plan/planners/host_optimizer.h"
#include "plan/planners/in_parts.h"
#include "workload/accumulate_gradients.h"

namespace uvmsim {
namespace {

struct ModnnOptions {
  int look_ahead = 0;
  int sub_batches = 0;
  int cpu_accumulation = 0;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = ModnnOptions;
    static const Description d =
        Describe<O>("list scheduling by the cost of what kernels do not hide")
            .integer("look_ahead", &O::look_ahead,
                     "kernels before its next use at which a copy in starts at the earliest; 0: as early as memory "
                     "permits",
                     {0, 1'000'000}, "kernels")
            .integer("sub_batches", &O::sub_batches,
                     "parts of the batch, one after the other, their gradients summed; 0: as many of 1, 2, 4, ... as "
                     "make the iteration fastest by the planner's model",
                     {0, 1024})
            .integer("cpu_accumulation", &O::cpu_accumulation,
                     "host cores that sum the gradients of sub-batches, each at the host's touch_bandwidth: gradients "
                     "leave as they are made, sums come back for the optimizer; 0: the GPU sums them",
                     {0, 1024}, "cores")
            .bytes("min_bytes", &O::min_bytes, "smaller data stays (assumed)")
            .build();
    return d;
  }
};

// How kernels with launch variants run: the fastest way at first.
class Ways {
 public:
  explicit Ways(const IterationGraph& graph) {
    for (std::int32_t k = 0; k < graph.shape.kernels; ++k)
      if (!graph.variants_of(k).empty()) left_[k] = ways_of(graph, k);
  }
  std::vector<KernelVariant> chosen() const {
    std::vector<KernelVariant> variants;
    for (const auto& [k, ways] : left_)
      if (ways.front().variant >= 0) variants.push_back({k, ways.front().variant});
    return variants;
  }
  std::vector<std::int64_t> with_workspaces(std::vector<std::int64_t> load) const {
    for (const auto& [k, ways] : left_) load[static_cast<std::size_t>(k)] += ways.front().workspace;
    return load;
  }
  // Kernel `k` takes its next way, with less workspace; false: it has none.
  bool shrink(std::int32_t k, LoadCurve& load) {
    const auto found = left_.find(k);
    if (found == left_.end() || found->second.size() < 2) return false;
    std::vector<KernelWay>& ways = found->second;
    load.add(k, k + 1, ways[1].workspace - ways[0].workspace);
    ways.erase(ways.begin());
    return true;
  }

 private:
  std::map<std::int32_t, std::vector<KernelWay>> left_;  // by kernel, the one that is chosen first
};

// Walks the kernels in order, with every tensor there from its allocation on. Where the load is above the memory it
// offloads, of the data that is idle there, what costs least: seconds of its two copies that kernels do not hide, by
// bytes; of what costs nothing, what is needed last. Copies share the link first come, first served. Then each copy in
// starts as early as memory permits, the first needed first. A kernel with launch variants runs the fastest way; where
// nothing is left to offload, the next one with less workspace.
//
// A batch goes in as many sub-batches as make the iteration fastest, twice as many as long as that helps: split_batch.h
// says what smaller kernels take.
//
// The CPU may sum the gradients of the parts (the paper has it do so for two GPUs while other data is on its way).
//
// The paper's exact cost is not public; this is its description.
//
// On hardware: a framework's memory manager and pinned host memory.
class Modnn final : public With<Planner, ModnnOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    return plan_each(gpus, [&](const Profile& profile) {
      std::string why;
      const auto in = [&](int parts) { return in_parts(profile, parts, services, why); };
      std::optional<PlanInParts> found =
          options_.sub_batches > 0 ? in(options_.sub_batches) : fastest_in_parts(in, kMostParts);
      if (!found) throw UserError("modnn", {{"/plan/sub_batches", why}});
      return std::move(found->plan);
    });
  }

 private:
  static constexpr int kMostParts = 64;  // that are tried (assumed)

  std::optional<PlanInParts> in_parts(const Profile& profile, int parts, PlanServices& services,
                                      std::string& why) const {
    if (parts == 1) return PlanInParts{profile, plan_of(profile)};
    std::optional<Profile> split = services.rewritten(profile, parts, {}, why);
    if (!split) return std::nullopt;
    Plan plan = plan_of(*split);
    plan.sub_batches = parts;
    plan.why += "; " + std::to_string(parts) + " sub-batches, whose arithmetic goes by waves of CTAs";
    return PlanInParts{std::move(*split), std::move(plan)};
  }

  struct Offload {
    std::size_t interval = 0;
    std::int32_t back = 0;  // the kernel before which its copy in starts
  };

  Plan plan_of(const Profile& recorded) const {
    Plan plan = empty_plan(recorded, "modnn");
    Ways ways(*recorded.graph);
    const Profile profile = profile_with(recorded, ways.chosen());
    HostOptimizer sums = sums_on_host(profile);
    plan.actions = std::move(sums.actions);
    LoadCurve load(ways.with_workspaces(load_under(profile, plan)));
    std::vector<Offload> chosen = offloads(profile, sums.tensors, ways, load);
    plan.variants = ways.chosen();
    fetch_early(profile, chosen, load);
    for (const Offload& o : chosen) {
      const Interval& i = profile.intervals[o.interval];
      const TensorInterval of = of_interval(i);
      if (i.dead)
        plan.actions.push_back(Drop{of, {Trigger::On::AfterKernel, i.last_use}});
      else
        plan.actions.push_back(Move{
            .of = of, .out = {{Trigger::On::AfterKernel, i.last_use}}, .in = {{Trigger::On::BeforeKernel, o.back}}});
    }
    plan.why = moved_text(plan);
    if (sums.groups > 0) plan.why += ", " + std::to_string(sums.groups) + " sums of gradients on the CPU";
    prove(profile, plan);
    plan.reclaim = "lms";  // where tensors are placed and no hole is large enough
    return plan;
  }

  HostOptimizer sums_on_host(const Profile& profile) const {
    if (options_.cpu_accumulation == 0) return {};
    return on_host(profile, {.cores = options_.cpu_accumulation},
                   [&](std::int32_t k) { return profile.graph->name_of(k) == kAccumulateKernel; });
  }

  // Of all tensors but `others`.
  std::vector<Offload> offloads(const Profile& profile, const std::set<std::int32_t>& others, Ways& ways,
                                LoadCurve& load) const {
    std::vector<std::size_t> by_begin;
    for (std::size_t n = 0; n < profile.intervals.size(); ++n)
      if (!profile.intervals[n].wraps && profile.intervals[n].bytes >= options_.min_bytes.value &&
          !others.contains(profile.intervals[n].tensor))
        by_begin.push_back(n);
    std::ranges::stable_sort(by_begin, {}, [&](std::size_t n) { return profile.intervals[n].last_use; });
    std::vector<Offload> chosen;
    std::vector<std::size_t> idle;  // at the kernel that the walk has come to
    auto next = by_begin.begin();
    Time out_free{};  // the link, from the GPU
    for (std::int32_t k = load.first_over(0, profile.shape().kernels, profile.budget.value); k >= 0;
         k = load.first_over(k, profile.shape().kernels, profile.budget.value)) {
      for (; next != by_begin.end() && profile.intervals[*next].last_use < k; ++next) idle.push_back(*next);
      std::erase_if(idle, [&](std::size_t n) { return profile.intervals[n].next_use <= k; });
      const auto cheapest = std::ranges::min_element(idle, {}, [&](std::size_t n) {
        const Interval& i = profile.intervals[n];
        return std::pair(cost(profile, i, k, out_free) / static_cast<double>(i.bytes), -i.next_use);
      });
      if (cheapest == idle.end()) {
        if (ways.shrink(k, load)) continue;
        if (++k == profile.shape().kernels) break;  // it does not fit; the later ones may
        continue;
      }
      const Interval& i = profile.intervals[*cheapest];
      if (!i.dead) out_free = std::max(out_free, i.over) + profile.links.out_time(i.bytes);
      load.free_between(i.last_use, i.next_use, i.bytes);
      chosen.push_back({*cheapest, i.next_use});
      idle.erase(cheapest);
    }
    return chosen;
  }

  // Seconds that kernel k waits for the copy out, and the next user for the copy in.
  static double cost(const Profile& profile, const Interval& i, std::int32_t k, Time out_free) {
    if (i.dead) return 0;
    const Time gone = std::max(out_free, i.over) + profile.links.out_time(i.bytes);
    const Time from = std::max(gone, profile.start(k));
    const Time there = from + profile.links.in_time(i.bytes);
    return seconds(std::max(Duration{0}, gone - profile.start(k))) +
           seconds(std::max(Duration{0}, there - std::max(from, i.needed)));
  }

  // Moves copies in to earlier kernels, as far as the load permits; not before the copy out would be over.
  void fetch_early(const Profile& profile, std::vector<Offload>& chosen, LoadCurve& load) const {
    std::ranges::stable_sort(chosen, {}, [&](const Offload& o) { return profile.intervals[o.interval].next_use; });
    for (Offload& o : chosen) {
      const Interval& i = profile.intervals[o.interval];
      if (i.dead) continue;
      const Time gone = i.over + profile.links.out_time(i.bytes);
      std::int32_t earliest = profile.starts.first_from(gone);
      if (options_.look_ahead > 0) earliest = std::max(earliest, i.next_use - options_.look_ahead);
      o.back = bring_back(i, earliest, profile.budget.value, load);
    }
  }
};

const bool kRegistered = add_plug_in<Planner, Modnn>(
    {.name = "modnn",
     .summary = "offload what costs least where memory is short, fetch as early as memory permits",
     .source = "Chen et al., DATE 2018: moDNN: Memory Optimal DNN Training on GPUs",
     .on_hardware = "a framework's memory manager and pinned host memory"});

}  // namespace
}  // namespace uvmsim
