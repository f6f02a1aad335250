#include "study/plan_view.h"

#include <algorithm>
#include <map>

#include "plan/planner.h"

namespace uvmsim {
namespace {

const std::string& text_of(const std::vector<std::string>& texts, std::int32_t index) {
  static const std::string none;
  return index < 0 ? none : texts[static_cast<std::size_t>(index)];
}

IntervalView view_of(const Profile& profile, const Interval& i) {
  const IterationGraph& graph = *profile.graph;
  const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(i.tensor)];
  const Duration copies = profile.links.out_time(i.bytes) + profile.links.in_time(i.bytes);
  return {.interval = i,
          .kind = tensor.kind < graph.kinds.size() ? graph.kinds[tensor.kind] : "",
          .layer = text_of(graph.strings, tensor.layer),
          .last = graph.name_of(i.last_use),
          .next = graph.name_of(i.next_use),
          .hidden = copies.count() == 0 ? 1 : std::clamp(seconds(i.gap) / seconds(copies), 0.0, 1.0)};
}

// What a layer makes in one phase and another reads.
bool is_feature_map(const IterationGraph& graph, const GraphTensor& t) {
  if (t.writers.empty() || t.uses.empty()) return false;
  const auto phase = [&](std::int32_t k) { return graph.kernels[static_cast<std::size_t>(k)].phase; };
  return t.freed && phase(t.writers.front()) != phase(t.uses.back());
}

void add_layers(const Profile& profile, PlanView& view, std::size_t most) {
  const IterationGraph& graph = *profile.graph;
  std::map<std::int32_t, LayerView> layers;
  for (const GraphKernel& k : graph.kernels) {
    LayerView& layer = layers[k.layer];
    ++layer.kernels;
    layer.compute += k.duration;
  }
  for (const GraphTensor& t : graph.tensors) {
    if (!is_feature_map(graph, t)) continue;
    LayerView& layer = layers[t.layer];
    layer.feature_maps += t.bytes;
    layer.transfer += profile.links.out_time(t.bytes) + profile.links.in_time(t.bytes);
    view.feature_maps += t.bytes;
  }
  for (auto& [name, layer] : layers) {
    layer.name = name < 0 ? "(none)" : text_of(graph.strings, name);
    if (view.feature_maps > 0)
      layer.share = static_cast<double>(layer.feature_maps) / static_cast<double>(view.feature_maps);
    view.layers.push_back(layer);
  }
  std::ranges::stable_sort(view.layers, std::greater{},
                           [](const LayerView& l) { return std::pair(l.feature_maps, l.compute); });
  if (view.layers.size() > most) view.layers.resize(most);
}

void add_load(const Profile& profile, const Plan* plan, PlanView& view, std::size_t parts) {
  const IterationGraph& graph = *profile.graph;
  const std::vector<std::int64_t> floor = profile.floor();
  const std::vector<std::int64_t> planned = plan == nullptr ? graph.load : load_under(profile, *plan);
  const std::size_t kernels = graph.kernels.size();
  view.floor = floor.empty() ? 0 : std::ranges::max(floor);
  parts = std::min(parts, kernels);
  for (std::size_t p = 0; p < parts; ++p) {
    const std::size_t first = p * kernels / parts, outer = (p + 1) * kernels / parts;
    const auto most = [&](const std::vector<std::int64_t>& of) {
      return *std::max_element(of.begin() + static_cast<std::ptrdiff_t>(first),
                               of.begin() + static_cast<std::ptrdiff_t>(outer));
    };
    view.load.push_back({.first = static_cast<std::int32_t>(first),
                         .outer = static_cast<std::int32_t>(outer),
                         .phase = text_of(graph.phases, graph.kernels[first].phase),
                         .load = most(graph.load),
                         .floor = most(floor),
                         .planned = most(planned)});
  }
}

VariantsView variants_of(const IterationGraph& graph) {
  VariantsView view;
  for (const GraphKernel& kernel : graph.kernels) {
    if (kernel.variants < 0) continue;
    ++view.kernels;
    const trace::LaunchVariants& variants = graph.variants[static_cast<std::size_t>(kernel.variants)];
    const trace::LaunchVariant& fastest = *std::ranges::min_element(
        variants, {}, [](const trace::LaunchVariant& v) { return std::pair(v.duration_ns, v.workspace); });
    if (nanoseconds(fastest.duration_ns) >= kernel.duration) continue;
    view.saved += kernel.duration - nanoseconds(fastest.duration_ns);
    view.workspace = std::max(view.workspace, fastest.workspace);
  }
  return view;
}

}  // namespace

PlanView view_plan(const Profile& profile, const Plan* plan, const PlanLimits& limits, std::size_t intervals,
                   std::size_t layers, std::size_t parts) {
  PlanView view{.workload = profile.graph->workload,
                .gpu = profile.gpu,
                .shape = profile.shape(),
                .length = profile.length,
                .memory = profile.budget.value,
                .peak = profile.peak()};
  add_load(profile, plan, view, parts);
  std::vector<Interval> largest = profile.intervals;
  std::ranges::stable_sort(largest, std::greater{}, [](const Interval& i) { return std::pair(i.bytes, i.gap); });
  if (largest.size() > intervals) largest.resize(intervals);
  for (const Interval& i : largest) view.intervals.push_back(view_of(profile, i));
  add_layers(profile, view, layers);
  view.variants = variants_of(*profile.graph);
  if (plan != nullptr) {
    view.plan = *plan;
    view.proof = check_plan(*profile.graph, *plan, limits);
  }
  return view;
}

}  // namespace uvmsim
