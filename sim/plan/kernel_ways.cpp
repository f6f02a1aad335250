#include "plan/kernel_ways.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace uvmsim {

std::vector<KernelWay> ways_of(const IterationGraph& graph, std::int32_t kernel) {
  std::vector<KernelWay> all = {{.duration = graph.kernels[static_cast<std::size_t>(kernel)].duration}};
  const std::span<const trace::LaunchVariant> variants = graph.variants_of(kernel);
  for (std::size_t v = 0; v < variants.size(); ++v)
    all.push_back(
        {static_cast<std::int32_t>(v), nanoseconds(variants[v].duration_ns), held_bytes(variants[v].workspace)});
  std::ranges::stable_sort(all, {}, [](const KernelWay& w) { return std::pair(w.duration, w.workspace); });
  std::vector<KernelWay> ways;
  for (const KernelWay& way : all)
    if (ways.empty() || way.workspace < ways.back().workspace) ways.push_back(way);
  return ways;
}

std::vector<KernelVariant> fastest_ways(const IterationGraph& graph) {
  return pick_ways(graph, [](std::int32_t, const std::vector<KernelWay>&) { return std::size_t{0}; });
}

std::vector<KernelVariant> smallest_ways(const IterationGraph& graph) {
  return pick_ways(graph, [](std::int32_t, const std::vector<KernelWay>& ways) { return ways.size() - 1; });
}

Profile profile_with(const Profile& profile, const std::vector<KernelVariant>& variants) {
  if (variants.empty()) return profile;
  auto graph = std::make_shared<IterationGraph>(*profile.graph);
  Profile with = profile;
  std::vector<Duration> longer(graph->kernels.size());
  for (const KernelVariant& v : variants) {
    Duration& duration = graph->kernels[static_cast<std::size_t>(v.kernel)].duration;
    const Duration before = duration;
    duration = nanoseconds(graph->variants_of(v.kernel)[static_cast<std::size_t>(v.variant)].duration_ns);
    longer[static_cast<std::size_t>(v.kernel)] = duration - before;
  }
  std::vector<Time> starts = profile.starts.all();
  Duration later{};
  for (const std::int32_t k : profile.starts.in_time()) {
    starts[static_cast<std::size_t>(k)] += later;
    later += longer[static_cast<std::size_t>(k)];
  }
  with.starts = KernelStarts(std::move(starts));
  with.length += later;
  with.graph = std::move(graph);
  return with;
}

}  // namespace uvmsim
