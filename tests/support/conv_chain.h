// A chain of six convolutions, a layer each, for planners that swap feature maps:
//   kernel l, l = 0 .. 5         makes map l (1 MiB) from map l - 1; tensor 1 + l
//   kernel 11 - l, l = 5 .. 0    reads maps l and l - 1 and updates the gradient, tensor 0 (512 B, held from before);
//                                then map l is freed
// Each kernel takes 1 ms, and so does a copy of one map. Map l, l = 0 .. 3, is idle from kernel l + 1 to kernel 10 - l.
// A kernel is prepared before what the one before it frees is free, so the load is, in maps:
//   kernel   0  1  2  3  4  5  6  7  8  9  10  11
//   load     1  2  3  4  5  6  6  6  5  4   3   2
#pragma once

#include <memory>
#include <string>

#include "plan/no_services.h"
#include "workload/trace_builder.h"

namespace uvmsim::testing_support {

inline constexpr std::int64_t kMap = 1 << 20, kGradient = 512;

// `convolutions`: false: of kernels that are none.
inline trace::Trace conv_chain(bool convolutions = true) {
  constexpr int kLayers = 6;
  const std::string name = convolutions ? "conv" : "relu";
  TraceBuilder t({});
  const trace::TensorId gradient = t.allocate(Bytes{kGradient}, TensorKind::Gradient);
  t.iteration(0);
  std::vector<trace::TensorId> maps;
  const auto layer = [&](int l) { t.layer(t.string("layer" + std::to_string(l))); };
  const trace::Kernel one_ms{.duration_ns = 1'000'000};
  t.phase("forward");
  for (int l = 0; l < kLayers; ++l) {
    layer(l);
    maps.push_back(t.allocate(Bytes{kMap}, TensorKind::Activation));
    if (l == 0)
      t.kernel(name + "_fwd", one_ms, {writes(maps[0])});
    else
      t.kernel(name + "_fwd", one_ms, {reads(maps[static_cast<std::size_t>(l) - 1]), writes(maps.back())});
  }
  t.phase("backward");
  for (int l = kLayers; l-- > 0;) {
    layer(l);
    const auto at = static_cast<std::size_t>(l);
    if (l == 0)
      t.kernel(name + "_bwd", one_ms, {reads(maps[0]), updates(gradient)});
    else
      t.kernel(name + "_bwd", one_ms, {reads(maps[at]), reads(maps[at - 1]), updates(gradient)});
    t.free(maps[at]);
  }
  return t.take();
}

// The chain on a GPU with room for `maps` and the gradient.
inline Profile conv_chain_profile(std::int64_t maps, std::vector<NodeLink> nodes = {}, bool convolutions = true) {
  const BytesPerSecond map_per_ms{kMap * 1000};
  return profile_iterations(conv_chain(convolutions), DeviceOrdinal{0}, GpuIndex{0},
                            {.launch = {},
                             .links = {map_per_ms, map_per_ms, {}},
                             .nodes = std::move(nodes),
                             .budget = Bytes{maps * kMap + kGradient}})
      .back();
}

// A planner and its parameters, to be set before it plans.
class PlannerUnderTest {
 public:
  explicit PlannerUnderTest(const std::string& name) : planner_(planners().find(name)->make()) {}
  template <class T>
  PlannerUnderTest& with(const std::string& key, T value) {
    parameter<T>(*planner_, key) = value;
    return *this;
  }
  PlannerUnderTest& with(const std::string& key, const char* value) { return with(key, std::string(value)); }
  Plan plan(const Profile& profile) const {
    NoServices services;
    return planner_->plan({&profile, 1}, services).front();
  }

 private:
  std::unique_ptr<Planner> planner_;
};

// The move of map `map`; nullptr: it stays.
inline const Move* move_of(const Plan& plan, std::int32_t map) {
  for (const Action& action : plan.actions)
    if (const auto* move = std::get_if<Move>(&action); move != nullptr && move->of.tensor == map + 1) return move;
  return nullptr;
}

inline Trigger before(std::int32_t kernel) { return {Trigger::On::BeforeKernel, kernel}; }
inline Trigger after(std::int32_t kernel) { return {Trigger::On::AfterKernel, kernel}; }

}  // namespace uvmsim::testing_support
