#include "plan/profile.h"

#include <algorithm>

#include "plan/stream_clock.h"

namespace uvmsim {
namespace {

// The intervals of one tensor, as they are added to the profile.
class TensorIntervals {
 public:
  TensorIntervals(Profile& profile, std::int32_t tensor)
      : profile_(profile), of_(profile.graph->tensors[static_cast<std::size_t>(tensor)]), tensor_(tensor) {
    for (const std::int32_t k : of_.uses) {
      over_.push_back(over_.empty() ? profile.end(k) : std::max(over_.back(), profile.end(k)));
      begins_.push_back(profile.start(k));
    }
    for (std::size_t u = begins_.size(); u-- > 1;) begins_[u - 1] = std::min(begins_[u - 1], begins_[u]);
  }

  void add() {
    for (std::size_t u = 1; u < of_.uses.size(); ++u) add(u - 1, u, false);
    if (tensor_ < profile_.shape().held && !of_.freed && !of_.uses.empty()) add(of_.uses.size() - 1, 0, true);
  }

 private:
  // The interval from use `a` to use `b`, if there is a kernel between them.
  void add(std::size_t a, std::size_t b, bool wraps) {
    const std::int32_t from = of_.uses[a], to = of_.uses[b];
    const std::int32_t between = wraps ? profile_.shape().kernels - 1 - from + to : to - from - 1;
    if (between <= 0) return;
    const Duration gap = begins_[b] - over_[a] + (wraps ? profile_.length : Duration{});
    profile_.intervals.push_back(
        {.tensor = tensor_,
         .last_use = from,
         .next_use = to,
         .bytes = of_.bytes,
         .wraps = wraps,
         .dead = profile_.graph->overwrites(to, tensor_),
         .over = over_[a],
         .needed = begins_[b],
         .gap = gap,
         .slack = gap - profile_.links.out_time(of_.bytes) - profile_.links.in_time(of_.bytes)});
  }

  Profile& profile_;
  const GraphTensor& of_;
  const std::int32_t tensor_;
  std::vector<Time> over_, begins_;  // of each use: the uses up to it are over; those from it on begin
};

}  // namespace

Time Profile::next_start(std::int32_t kernel) const {
  const auto next = static_cast<std::size_t>(starts.place_of(kernel)) + 1;
  return next == starts.size() ? Time{} + length : start(starts.in_time()[next]);
}

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
  profile.starts = KernelStarts(StreamClock(*shape.graph, setting.links, setting.launch).run(profile.length));
  for (std::size_t t = 0; t < shape.graph->tensors.size(); ++t)
    TensorIntervals(profile, static_cast<std::int32_t>(t)).add();
  return profile;
}

std::vector<Profile> profile_iterations(const trace::Trace& trace, DeviceOrdinal device, GpuIndex gpu,
                                        const ProfileSetting& setting) {
  std::vector<Profile> profiles;
  for (const ShapeOfIteration& shape : shapes_of(trace, device)) profiles.push_back(profile_of(shape, gpu, setting));
  return profiles;
}

}  // namespace uvmsim
