// Ways to run kernels, for planners that choose among them: convolution algorithms with more or less workspace.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "plan/profile.h"

namespace uvmsim {

struct KernelWay {
  std::int32_t variant = -1;   // -1: as it is recorded
  Duration duration{};         // in-core
  std::int64_t workspace = 0;  // bytes of the GPU, besides what the trace allocates itself
};

// The ways to run `kernel` that no other one beats in both time and workspace: the fastest first, the smallest last.
std::vector<KernelWay> ways_of(const IterationGraph& graph, std::int32_t kernel);

// What `pick(kernel, ways)`, an index into ways_of(), makes of each kernel that has a choice.
template <class Pick>
std::vector<KernelVariant> pick_ways(const IterationGraph& graph, Pick pick) {
  std::vector<KernelVariant> variants;
  for (std::int32_t k = 0; k < graph.shape.kernels; ++k) {
    if (graph.variants_of(k).empty()) continue;
    const std::vector<KernelWay> ways = ways_of(graph, k);
    const KernelWay& way = ways[pick(k, ways)];
    if (way.variant >= 0) variants.push_back({k, way.variant});
  }
  return variants;
}
std::vector<KernelVariant> fastest_ways(const IterationGraph& graph);
std::vector<KernelVariant> smallest_ways(const IterationGraph& graph);

// `profile` with kernels that run as `variants`: each later one starts as much earlier or later as those before it
// take.
Profile profile_with(const Profile& profile, const std::vector<KernelVariant>& variants);

}  // namespace uvmsim
