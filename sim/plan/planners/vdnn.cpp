#include "plan/planners/vdnn.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan/kernel_ways.h"

namespace uvmsim {
namespace {

struct VdnnOptions {
  std::string mode = "dyn";
  std::string algorithms = "performance";
  std::string window = "nearest_convolution";
  int distance = 1;
  int in_flight = 1;
  std::string sync = "layer";
  Bytes min_bytes{};

  static const Description& description() {
    using O = VdnnOptions;
    static const Description d =
        Describe<O>("virtualized DNN memory, layer by layer")
            .text("mode", &O::mode,
                  "inputs of convolutions, of all layers of the feature extractor, none, or the first of none, conv "
                  "and all that fits",
                  {"none", "conv", "all", "dyn"})
            .text("algorithms", &O::algorithms,
                  "kernels with launch variants run the fastest way, the one with the least workspace, or as they are "
                  "recorded; dyn chooses",
                  {"performance", "memory", "recorded"})
            .text("window", &O::window,
                  "a layer of the backward pass looks for feature maps to fetch up to the next convolution, without "
                  "limit, or `distance` layers ahead",
                  {"nearest_convolution", "unlimited", "distance"})
            .integer("distance", &O::distance, "layers ahead in the window `distance`", {1, 1'000'000}, "layers")
            .integer("in_flight", &O::in_flight, "layers whose feature maps one layer fetches", {1, 1'000'000},
                     "layers")
            .text("sync", &O::sync,
                  "the host joins the streams at the end of each layer, or kernels wait for what they need",
                  {"layer", "stream"})
            .bytes("min_bytes", &O::min_bytes, "smaller feature maps stay")
            .build();
    return d;
  }
};

// Offloads the input of a layer while its last reader in the forward pass runs, and fetches it while an earlier layer
// of the backward pass does; the host joins compute and copies after each layer. `dyn` tries no offloading, then conv,
// then all, each with the fastest algorithms; then conv and all with, layer by layer, the fastest whose workspace fits;
// then both with the least workspace. It takes the first that fits. Where the trace has no launch variants there is one
// algorithm, and `dyn` has the first three steps.
//
// On hardware: the framework's own memory manager and two streams; pinned host memory.
class Vdnn final : public With<Planner, VdnnOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  Plan plan_of(const Profile& profile) const {
    if (options_.mode != "dyn") return plan_of(profile, options_.mode, options_.algorithms);
    Plan plan = dyn(profile);
    plan.why = "dyn: " + plan.why;
    return plan;
  }

  Plan dyn(const Profile& profile) const {
    const auto first_with = [&](std::initializer_list<const char*> modes, const char* algorithms) {
      return first_that_fits(modes, [&](const char* mode) { return plan_of(profile, mode, algorithms); });
    };
    Plan plan = first_with({"none", "conv", "all"}, "performance");
    if (profile.graph->variants.empty()) return plan;
    for (const char* algorithms : {"greedy", "memory"})
      if (!plan.feasible) plan = first_with({"conv", "all"}, algorithms);
    return plan;
  }

  Plan plan_of(const Profile& profile, const std::string& mode, const std::string& algorithms) const {
    const Sync sync = options_.sync == "layer" ? Sync::Layer : Sync::Stream;
    return vdnn_plan(profile,
                     {.which = mode,
                      .window = options_.window,
                      .distance = options_.distance,
                      .in_flight = options_.in_flight,
                      .out = sync,
                      .in = sync,
                      .least = options_.min_bytes,
                      .algorithms = algorithms},
                     "vdnn");
  }
};

const bool kRegistered = add_plug_in<Planner, Vdnn>(
    {.name = "vdnn",
     .summary = "offload inputs of layers while they are last read, fetch them a layer ahead",
     .source = "Rhu et al., MICRO 2016: vDNN, section 3; findPrefetchLayer is its figure 10",
     .on_hardware = "a framework's memory manager with streams of its own and pinned host memory"});

// Layers whose inputs the authors leave alone: the classifier's.
bool of_classifier(KernelClass kind) { return kind == KernelClass::Gemm || kind == KernelClass::Reduction; }

// What layers of the backward pass need of the feature maps, by the index of the layer.
using Needs = std::map<std::size_t, std::vector<std::size_t>>;

// The layers from which run `at` on fetches, at most `in_flight` of them.
std::vector<std::size_t> to_fetch(const std::vector<LayerRun>& runs, std::size_t at, const Needs& waiting,
                                  const VdnnRules& rules) {
  std::vector<std::size_t> found;
  const std::size_t reach =
      rules.window == "distance" ? at + static_cast<std::size_t>(rules.distance) : runs.size() - 1;
  if (rules.window != "nearest_convolution") {
    for (auto next = waiting.upper_bound(at); next != waiting.end() && next->first <= reach; ++next) {
      if (found.size() == static_cast<std::size_t>(rules.in_flight)) break;
      found.push_back(next->first);
    }
    return found;
  }
  for (std::size_t r = at + 1; r < runs.size() && found.size() < static_cast<std::size_t>(rules.in_flight); ++r) {
    if (waiting.contains(r))
      found.push_back(r);
    else if (runs[r].convolution)
      break;
  }
  return found;
}

// How kernels run under the moves of `plan`, by VdnnRules::algorithms.
std::vector<KernelVariant> algorithms(const Profile& profile, const Plan& plan, const std::string& which) {
  const IterationGraph& graph = *profile.graph;
  if (which == "performance") return fastest_ways(graph);
  if (which == "memory") return smallest_ways(graph);
  if (which == "recorded") return {};
  LoadCurve load(load_under(profile, plan));
  for (const Action& action : plan.actions)
    if (const auto* m = std::get_if<Move>(&action); m != nullptr && m->in.at.on != Trigger::On::Access)
      load.add(m->in.at.kernel, m->of.next_use, m->of.bytes);  // it is fetched before its use
  return pick_ways(graph, [&](std::int32_t k, const std::vector<KernelWay>& ways) {
    const std::int64_t room = profile.budget.value - load.most(k, k + 1);
    const auto fits = std::ranges::find_if(ways, [&](const KernelWay& way) { return way.workspace <= room; });
    return static_cast<std::size_t>(std::min(fits, ways.end() - 1) - ways.begin());
  });
}

}  // namespace

std::vector<std::size_t> vdnn_feature_maps(const Profile& profile, const VdnnRules& rules) {
  std::vector<std::size_t> found;
  if (rules.which == "none") return found;
  const IterationGraph& graph = *profile.graph;
  std::set<std::int32_t> convolutions;  // with an input to offload
  for (const std::size_t n : feature_maps(profile, rules.least)) {
    const Interval& i = profile.intervals[n];
    const KernelClass reader = graph.kernels[static_cast<std::size_t>(i.last_use)].kind;
    const TensorUse* use = use_of(graph, i.last_use, i.tensor);
    if (use == nullptr || !use->reads || of_classifier(reader)) continue;
    if (rules.which != "all") {
      if (reader != KernelClass::Convolution) continue;
      convolutions.insert(i.last_use);
      if (rules.which == "alternate_conv" && convolutions.size() % 2 == 0) continue;
    }
    found.push_back(n);
  }
  return found;
}

Plan vdnn_plan(const Profile& profile, const VdnnRules& rules, const std::string& planner) {
  Plan plan = empty_plan(profile, planner);
  const IterationGraph& graph = *profile.graph;
  const std::vector<LayerRun> runs = layer_runs(graph);
  plan.layer_ends.clear();
  for (const LayerRun& run : runs) plan.layer_ends.push_back(run.outer - 1);
  Needs waiting;
  for (const std::size_t n : vdnn_feature_maps(profile, rules)) {
    const Interval& i = profile.intervals[n];
    const bool writes = use_of(graph, i.last_use, i.tensor)->writes;
    waiting[run_of(runs, i.next_use)].push_back(plan.actions.size());
    plan.actions.push_back(
        Move{.of = of_interval(i),
             .out = {{writes ? Trigger::On::AfterKernel : Trigger::On::BeforeKernel, i.last_use}, rules.out},
             .in = {{Trigger::On::Access, 0}, Sync::Host}});
  }
  const std::int32_t backward = graph.first_kernel_of("backward");
  for (std::size_t r = waiting.empty() ? runs.size() : run_of(runs, backward); r < runs.size(); ++r) {
    waiting.erase(r);  // what was not fetched before comes on demand
    for (const std::size_t later : to_fetch(runs, r, waiting, rules)) {
      for (const std::size_t action : waiting[later])
        std::get<Move>(plan.actions[action]).in = {{Trigger::On::BeforeKernel, runs[r].first}, rules.in};
      waiting.erase(later);
    }
  }
  plan.variants = algorithms(profile, plan, rules.algorithms);
  const bool phases = backward > 0;
  const bool choice = !graph.variants.empty() && rules.algorithms != "recorded";
  plan.why = rules.which + (choice ? ", algorithms for " + rules.algorithms : "") + ": " +
             (phases ? moved_text(plan) : "no phase \"backward\", nothing is offloaded");
  if (phases && plan.actions.empty() && rules.which != "none")
    plan.why += ", because no layer's input may be offloaded";
  prove(profile, plan);
  return plan;
}

}  // namespace uvmsim
