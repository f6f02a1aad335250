#include <algorithm>

#include "plan/feature_maps.h"
#include "plan/kernel_ways.h"
#include "plan/recomputation.h"

namespace uvmsim {
namespace {

struct SuperneuronsOptions {
  bool offload = true;
  bool cache = true;
  std::string recompute = "cost_aware";
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = SuperneuronsOptions;
    static const Description d =
        Describe<O>("results of convolutions in host memory, cheap results made again")
            .flag("offload", &O::offload, "whether results of convolutions and matrix products go to host memory")
            .flag("cache", &O::cache,
                  "whether only what does not fit leaves, least recently used first (LRU tensor cache)")
            .text("recompute", &O::recompute,
                  "how results of poolings, activations and normalizations are recomputed: not at all (none); each "
                  "segment once (speed) or anew for "
                  "each kernel that needs it (memory); once where a segment and its gradients take no more than the "
                  "largest kernel of the backward pass uses, else anew",
                  {"none", "speed", "memory", "cost_aware"})
            .bytes("min_bytes", &O::min_bytes, "smaller results stay (assumed)")
            .build();
    return d;
  }
};

// Feature maps that convolutions and matrix products make, and those where branches meet, are checkpoints: they go to
// host memory after the forward pass used them, and come back when the backward pass has come to the convolution behind
// them. Between two checkpoints lie segments of cheap results, which are dropped and made again from the checkpoint
// before them. A kernel with launch variants runs the fastest one whose workspace still fits.
//
// On hardware: a framework with its own pool of device memory, pinned host memory and a scheduler of layers.
class Superneurons final : public With<Planner, SuperneuronsOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  Plan plan_of(const Profile& profile) const {
    Plan plan = empty_plan(profile, "superneurons");
    const Lineage lineage(*profile.graph);
    if (lineage.backward() <= 0) {
      plan.why = "the iteration has no phase \"backward\": there are no feature maps";
      prove(profile, plan);
      return plan;
    }
    std::vector<std::size_t> dropped;
    if (options_.recompute != "none" && !(options_.cache && profile.peak() <= profile.budget.value))
      dropped = cheap_results(profile, lineage);
    LoadCurve load(profile.graph->load);
    for (const std::size_t n : dropped) free(profile, n, load);
    offload(profile, dropped, load, plan);
    plan.why = moved_text(plan);
    if (!dropped.empty()) recompute(profile, lineage, dropped, plan);
    const std::vector<std::int64_t> held = load_under(profile, plan);
    plan.variants = pick_ways(*profile.graph, [&](std::int32_t k, const std::vector<KernelWay>& ways) {
      const std::int64_t room = profile.budget.value - held[static_cast<std::size_t>(k)];
      const auto fits = std::ranges::find_if(ways, [&](const KernelWay& w) { return w.workspace <= room; });
      return static_cast<std::size_t>(std::min(fits, ways.end() - 1) - ways.begin());
    });
    prove(profile, plan);
    return plan;
  }

  static void free(const Profile& profile, std::size_t n, LoadCurve& load) {
    const Interval& i = profile.intervals[n];
    load.free_between(i.last_use, i.next_use, i.bytes);
  }

  static bool cheap(KernelClass kind) {
    return kind == KernelClass::Pooling || kind == KernelClass::Pointwise || kind == KernelClass::Normalization;
  }

  // --- offloading

  void offload(const Profile& profile, const std::vector<std::size_t>& dropped, LoadCurve& load, Plan& plan) const {
    if (!options_.offload) return;
    std::vector<std::size_t> maps = feature_maps(profile, options_.min_bytes);
    std::erase_if(maps, [&](std::size_t n) {
      return std::ranges::find(dropped, n) != dropped.end() || made_cheaply(profile, profile.intervals[n].tensor);
    });
    if (options_.cache) maps = least_recently_used(profile, maps, load);
    const std::vector<LayerRun> runs = layer_runs(*profile.graph);
    for (const std::size_t n : maps) {
      const Interval& i = profile.intervals[n];
      plan.actions.push_back(Move{.of = of_interval(i),
                                  .out = {{Trigger::On::AfterKernel, i.last_use}},
                                  .in = {{Trigger::On::BeforeKernel, fetch_place(*profile.graph, runs, i)}}});
    }
  }

  bool made_cheaply(const Profile& profile, std::int32_t tensor) const {
    const std::vector<std::int32_t>& writers = profile.graph->tensors[static_cast<std::size_t>(tensor)].writers;
    return std::ranges::all_of(writers, [&](std::int32_t k) {
      return cheap(profile.graph->kernels[static_cast<std::size_t>(k)].kind) && !joins(*profile.graph, k);
    });
  }

  // Whether branches meet in the kernel: it reads several results.
  bool joins(const IterationGraph& graph, std::int32_t kernel) const {
    return std::ranges::count_if(graph.uses_of(kernel), [&](const TensorUse& use) {
             const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(use.tensor)];
             return use.reads && tensor.bytes >= options_.min_bytes.value && !tensor.writers.empty() &&
                    tensor.writers.front() < kernel;
           }) > 1;
  }

  // Of `maps`, in the order of their last uses, those that have to leave: at each kernel at which memory is short, what
  // was used longest ago.
  static std::vector<std::size_t> least_recently_used(const Profile& profile, std::vector<std::size_t> maps,
                                                      LoadCurve& load) {
    const std::int32_t kernels = profile.shape().kernels;
    std::vector<std::size_t> leave;
    for (std::int32_t k = load.first_over(0, kernels, profile.budget.value); k >= 0 && k < kernels;
         k = load.first_over(k, kernels, profile.budget.value)) {
      const auto oldest = std::ranges::find_if(maps, [&](std::size_t n) { return profile.intervals[n].spans(k); });
      if (oldest == maps.end()) {
        ++k;  // it does not fit; what comes later may
        continue;
      }
      free(profile, *oldest, load);
      leave.push_back(*oldest);
      maps.erase(oldest);
    }
    return leave;
  }

  // The convolution of the last run with one that comes before the run of the next use.
  static std::int32_t fetch_place(const IterationGraph& graph, const std::vector<LayerRun>& runs, const Interval& i) {
    for (std::size_t r = run_of(runs, i.next_use); r-- > 0 && runs[r].first > i.last_use;)
      for (std::int32_t k = runs[r].first; k < runs[r].outer && runs[r].convolution; ++k)
        if (graph.kernels[static_cast<std::size_t>(k)].kind == KernelClass::Convolution) return k;
    return i.next_use;
  }

  // --- recomputation

  std::vector<std::size_t> cheap_results(const Profile& profile, const Lineage& lineage) const {
    std::vector<std::size_t> found = recomputable(profile, lineage, options_.min_bytes);
    std::erase_if(found, [&](std::size_t n) {
      const Interval& i = profile.intervals[n];
      return i.last_use >= lineage.backward() || !made_cheaply(profile, i.tensor);
    });
    return found;
  }

  void recompute(const Profile& profile, const Lineage& lineage, const std::vector<std::size_t>& dropped,
                 Plan& plan) const {
    const std::vector<int> segments = segments_of(*profile.graph, lineage.backward());
    const auto segment = [&](std::int32_t tensor) {
      return static_cast<std::size_t>(segments[static_cast<std::size_t>(lineage.of(tensor).kernels.front())]);
    };
    std::vector<std::int64_t> results(profile.graph->kernels.size()), gradients(results);  // by segment
    for (const std::size_t n : dropped) {
      const Interval& i = profile.intervals[n];
      results[segment(i.tensor)] += i.bytes;
      for (const std::int32_t k : profile.graph->tensors[static_cast<std::size_t>(i.tensor)].uses)
        gradients[segment(i.tensor)] =
            std::max(gradients[segment(i.tensor)], bytes_used(*profile.graph, k, lineage.backward()));
    }
    const std::int64_t most = largest_backward_kernel(*profile.graph, lineage.backward());
    const Recomputation r = recompute_on_demand(profile, lineage, dropped, [&](std::int32_t tensor, std::int32_t) {
      if (options_.recompute != "cost_aware") return options_.recompute == "memory";
      return results[segment(tensor)] + gradients[segment(tensor)] > most;
    });
    plan.why += "; " + recomputed_text(r);
    add_segments(r, plan);
  }

  // By kernel of the forward pass: how many kernels that are not cheap come before it.
  static std::vector<int> segments_of(const IterationGraph& graph, std::int32_t backward) {
    std::vector<int> segments;
    int segment = 0;
    for (std::int32_t k = 0; k < backward; ++k) {
      segments.push_back(segment);
      segment += !cheap(graph.kernels[static_cast<std::size_t>(k)].kind);
    }
    return segments;
  }

  // Bytes of what a kernel uses of all that is made from kernel `from` on.
  static std::int64_t bytes_used(const IterationGraph& graph, std::int32_t kernel, std::int32_t from) {
    std::int64_t bytes = 0;
    for (const TensorUse& use : graph.uses_of(kernel)) {
      const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(use.tensor)];
      if (tensor.first >= from) bytes += tensor.bytes;
    }
    return bytes;
  }

  // Of a kernel of the backward pass: a layer in the paper is one routine of cuDNN.
  static std::int64_t largest_backward_kernel(const IterationGraph& graph, std::int32_t backward) {
    std::int64_t most = 0;
    for (std::int32_t k = backward; k < graph.shape.kernels; ++k)
      if (graph.kernels[static_cast<std::size_t>(k)].kind != KernelClass::Optimizer)
        most = std::max(most, bytes_used(graph, k, 0));
    return most;
  }
};

const bool kRegistered = add_plug_in<Planner, Superneurons>(
    {.name = "superneurons",
     .summary = "move results of convolutions to the host when memory is short; recompute cheap results by segments",
     .source = "Wang et al., SuperNeurons: Dynamic GPU Memory Management for Training Deep Neural Networks, PPoPP "
               "2018, section 3; linnanwang/superneurons-release",
     .on_hardware = "a framework with its own pool of device memory and pinned host memory"});

}  // namespace
}  // namespace uvmsim
