#include "report/view_input.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace uvmsim {
namespace {

ObservedIteration observe(const trace::Trace& trace, DeviceOrdinal device, const ViewSetting& setting) {
  std::vector<IterationRecords> all = iterations_of(trace, device);
  std::int32_t most = 0;
  for (const IterationRecords& one : all) most = std::max(most, one.shape.kernels);
  auto chosen = all.begin();
  for (auto it = all.begin(); it != all.end(); ++it)
    if (2 * it->shape.kernels >= most) chosen = it;
  const ShapeOfIteration shape{static_cast<std::int32_t>(chosen - all.begin()),
                               std::make_shared<const IterationGraph>(trace, device, *chosen)};
  return {device, std::move(*chosen),
          profile_of(shape, GpuIndex{},
                     {.launch = setting.launch, .links = setting.links, .nodes = setting.nodes, .budget = {}})};
}

}  // namespace

ViewInput::ViewInput(const trace::Trace& of, ViewSetting with) : trace(of), setting(std::move(with)) {
  setting.placement.device_capacity = {};
  for (const DeviceOrdinal device : devices_of(trace)) iterations.push_back(observe(trace, device, setting));
}

std::vector<AccessInterval> access_intervals(const Profile& profile) {
  const IterationGraph& graph = *profile.graph;
  std::vector<AccessInterval> found;
  for (std::int32_t t = 0; std::cmp_less(t, graph.tensors.size()); ++t) {
    const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(t)];
    const auto add = [&](std::int32_t last, std::int32_t next, bool wraps) {
      const Duration idle = profile.start(next) - profile.end(last) + (wraps ? profile.length : Duration{});
      found.push_back({t, last, next, wraps, std::max(idle, Duration{})});
    };
    for (std::size_t u = 1; u < tensor.uses.size(); ++u) add(tensor.uses[u - 1], tensor.uses[u], false);
    if (t < graph.shape.held && !tensor.freed && !tensor.uses.empty())
      add(tensor.uses.back(), tensor.uses.front(), true);
  }
  return found;
}

double swappable_bytes(Duration idle, const LinkModel& links) {
  if (links.out.value <= 0 || links.in.value <= 0) return std::numeric_limits<double>::infinity();
  return seconds(idle) / (1 / static_cast<double>(links.out.value) + 1 / static_cast<double>(links.in.value));
}

std::string layer_of(const IterationGraph& graph, std::int32_t tensor) {
  const std::int32_t layer = graph.tensors[static_cast<std::size_t>(tensor)].layer;
  return layer < 0 ? "" : graph.strings[static_cast<std::size_t>(layer)];
}

}  // namespace uvmsim
