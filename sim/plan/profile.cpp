#include "plan/profile.h"

#include <algorithm>

namespace uvmsim {
namespace {

// When the host and the GPU are free, as the iteration goes on.
class Clock {
 public:
  Clock(const IterationGraph& graph, const ProfileSetting& setting)
      : graph_(graph), setting_(setting), call_(std::max(graph.host_op, setting.launch)) {}

  // The start of each kernel; `length` receives that of the iteration.
  std::vector<Time> run(Duration& length) {
    for (const GraphStep& step : graph_.steps) take(step);
    length = std::max(gpu_, host_);
    return std::move(starts_);
  }

 private:
  void take(const GraphStep& step) {
    const auto index = static_cast<std::size_t>(step.index);
    switch (step.kind) {
      case GraphStep::Kind::Kernel:
        return launch(graph_.kernels[index]);
      case GraphStep::Kind::Copy:
        return copy(graph_.copies[index]);
      case GraphStep::Kind::Launch:
        host_ += call_ + graph_.host_steps[index].duration;
        return;
      case GraphStep::Kind::Host:  // other host threads run next to the one that launches
        if (graph_.host_steps[index].thread == 0) host_ += graph_.host_steps[index].duration;
        return;
      case GraphStep::Kind::Synchronize:
        host_ = std::max(host_, gpu_);
        return;
      case GraphStep::Kind::Allocate:
      case GraphStep::Kind::Free:
      case GraphStep::Kind::Collective:
        return;
    }
  }

  void launch(const GraphKernel& kernel) {
    host_ += call_ + kernel.gap;
    starts_.push_back(std::max(gpu_, host_));
    gpu_ = starts_.back() + kernel.duration;
  }

  void copy(const GraphCopy& copy) {
    host_ += call_;
    if (copy.direction == trace::CopyDirection::HostToDevice)
      gpu_ = std::max(gpu_, host_) + setting_.links.in_time(copy.bytes);
    if (copy.direction == trace::CopyDirection::DeviceToHost)
      gpu_ = std::max(gpu_, host_) + setting_.links.out_time(copy.bytes);
    if (!copy.asynchronous) host_ = std::max(host_, gpu_);
  }

  const IterationGraph& graph_;
  const ProfileSetting& setting_;
  const Duration call_;
  std::vector<Time> starts_;
  Time host_{}, gpu_{};
};

// The interval from `from` to `to`, if there is a kernel between them.
void add_interval(Profile& profile, std::int32_t tensor, std::int32_t from, std::int32_t to, bool wraps) {
  const std::int32_t between = wraps ? profile.shape().kernels - 1 - from + to : to - from - 1;
  if (between <= 0) return;
  const std::int64_t bytes = profile.graph->tensors[static_cast<std::size_t>(tensor)].bytes;
  Duration gap = profile.start(to) - profile.end(from);
  if (wraps) gap += profile.length;
  profile.intervals.push_back({.tensor = tensor,
                               .last_use = from,
                               .next_use = to,
                               .bytes = bytes,
                               .wraps = wraps,
                               .dead = profile.graph->overwrites(to, tensor),
                               .gap = gap,
                               .slack = gap - profile.links.out_time(bytes) - profile.links.in_time(bytes)});
}

}  // namespace

std::vector<std::int64_t> Profile::floor() const {
  std::vector<std::int64_t> change(graph->load.size() + 1);
  const auto subtract = [&](std::int32_t first, std::int32_t outer, std::int64_t bytes) {
    change[static_cast<std::size_t>(first)] -= bytes;
    change[static_cast<std::size_t>(outer)] += bytes;
  };
  for (const Interval& i : intervals) {
    if (i.wraps) {
      subtract(i.last_use + 1, shape().kernels, i.bytes);
      subtract(0, i.next_use, i.bytes);
    } else {
      subtract(i.last_use + 1, i.next_use, i.bytes);
    }
  }
  std::vector<std::int64_t> result = graph->load;
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < result.size(); ++k) result[k] += sum += change[k];
  return result;
}

std::vector<ShapeOfIteration> shapes_of(const trace::Trace& trace, DeviceOrdinal device) {
  const std::vector<IterationRecords> iterations = iterations_of(trace, device);
  std::vector<std::size_t> last;  // iterations, by shape
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const auto same =
        std::ranges::find_if(last, [&](std::size_t n) { return iterations[n].shape == iterations[i].shape; });
    if (same == last.end())
      last.push_back(i);
    else
      *same = i;
  }
  std::vector<ShapeOfIteration> shapes;
  for (const std::size_t i : last)
    shapes.push_back(
        {static_cast<std::int32_t>(i), std::make_shared<const IterationGraph>(trace, device, iterations[i])});
  return shapes;
}

Profile profile_of(const ShapeOfIteration& shape, GpuIndex gpu, const ProfileSetting& setting) {
  Profile profile{.graph = shape.graph,
                  .gpu = gpu,
                  .iteration = shape.iteration,
                  .links = setting.links,
                  .nodes = setting.nodes,
                  .budget = setting.budget,
                  .sparsity = setting.sparsity};
  profile.starts = Clock(*shape.graph, setting).run(profile.length);
  for (std::size_t t = 0; t < shape.graph->tensors.size(); ++t) {
    const GraphTensor& tensor = shape.graph->tensors[t];
    const auto ordinal = static_cast<std::int32_t>(t);
    for (std::size_t u = 1; u < tensor.uses.size(); ++u)
      add_interval(profile, ordinal, tensor.uses[u - 1], tensor.uses[u], false);
    if (ordinal < shape.graph->shape.held && !tensor.freed && !tensor.uses.empty())
      add_interval(profile, ordinal, tensor.uses.back(), tensor.uses.front(), true);
  }
  return profile;
}

std::vector<Profile> profile_iterations(const trace::Trace& trace, DeviceOrdinal device, GpuIndex gpu,
                                        const ProfileSetting& setting) {
  std::vector<Profile> profiles;
  for (const ShapeOfIteration& shape : shapes_of(trace, device)) profiles.push_back(profile_of(shape, gpu, setting));
  return profiles;
}

}  // namespace uvmsim
