#include <algorithm>

#include "base/number_text.h"
#include "plan/planner.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct GeePsOptions {
  double budget = 0.95;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = GeePsOptions;
    static const Description d =
        Describe<O>("double buffering by layers")
            .number("budget", &O::budget, "share of device memory to fit into (assumed)", {0, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// The data live in CPU memory, in a parameter server: each layer's parameters, and the activations that it keeps for
// the backward pass. The GPU has buffers for the layer that runs and the one after it, which background copies fill
// meanwhile; what a layer has used goes back when it ends. Memory that the buffers leave pins data on the GPU:
// activations before parameters, those that are idle for the shortest time first (the order is assumed).
//
// On hardware: nothing but an application that allocates and copies so; the synchronisation of several workers, which
// is the server's other half, is the program's own here.
class GeePs final : public With<Planner, GeePsOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile, gpus.size()); });
  }

 private:
  // An interval, away from the kernel `from` on and back before the kernel `back`.
  struct Absence {
    const Interval* interval = nullptr;
    std::int32_t from = 0, back = 0;
  };

  // Those that begin when a layer ends and end when the layer before the next user begins.
  std::vector<Absence> absences(const Profile& profile, const LayerRuns& layers) const {
    std::vector<Absence> found;
    for (const Interval& i : profile.intervals) {
      const std::int32_t last = layers.of(i.last_use), next = layers.of(i.next_use);
      const std::int32_t before = (next + layers.count() - 1) % layers.count();
      const std::int32_t apart = next - last + (i.wraps ? layers.count() : 0);
      if (i.bytes < options_.min_bytes.value || apart < 3) continue;
      found.push_back({&i, layers.last(last) + 1, layers.first(before)});
    }
    return found;
  }

  static void change(LoadCurve& curve, const Absence& a, std::int32_t kernels, std::int64_t bytes) {
    const bool wraps = a.back < a.from;
    curve.add(a.from, wraps ? kernels : a.back, bytes);
    if (wraps) curve.add(0, a.back, bytes);
  }
  static std::int64_t most(const LoadCurve& curve, const Absence& a, std::int32_t kernels) {
    if (a.back >= a.from) return curve.most(a.from, a.back);
    return std::max(curve.most(a.from, kernels), curve.most(0, a.back));
  }

  Plan plan_of(const Profile& profile, std::size_t gpus) const {
    Plan plan = empty_plan(profile, "geeps");
    const std::int32_t kernels = profile.shape().kernels;
    const auto limit = static_cast<std::int64_t>(options_.budget * static_cast<double>(profile.budget.value));
    std::vector<Absence> all = absences(profile, LayerRuns(*profile.graph));
    LoadCurve curve(profile.graph->load);
    for (const Absence& a : all) change(curve, a, kernels, -a.interval->bytes);
    const std::int64_t buffers = curve.most();
    std::ranges::stable_sort(all, {}, [&](const Absence& a) {
      return std::pair(a.interval->tensor < profile.shape().held, a.interval->gap);
    });
    std::int64_t bytes = 0;
    for (const Absence& a : all) {
      const Interval& i = *a.interval;
      if (most(curve, a, kernels) + i.bytes <= limit) {
        change(curve, a, kernels, i.bytes);
        continue;
      }
      const Trigger out{Trigger::On::AfterKernel, (a.from + kernels - 1) % kernels};
      if (i.dead) {
        plan.actions.push_back(Drop{of_interval(i), out});
        continue;
      }
      bytes += i.bytes;
      plan.actions.push_back(Move{.of = of_interval(i), .out = {out}, .in = {{Trigger::On::BeforeKernel, a.back}}});
    }
    plan.why = "layers need " + bytes_text(buffers) + " with double buffers; " + bytes_text(bytes) + " are not pinned";
    sort_by_use(profile, plan);
    conclude(profile, gpus, plan);
    return plan;
  }
};

const bool kRegistered = add_plug_in<Planner, GeePs>(
    {.name = "geeps",
     .summary =
         "keep data in CPU memory, with double buffers by layer on the GPU and what fits next to them pinned there",
     .source = "Cui et al., GeePS: Scalable Deep Learning on Distributed GPUs with a GPU-Specialized Parameter Server, "
               "EuroSys 2016, sections 3 and 4",
     .on_hardware =
         "a framework whose buffers a parameter server hands out (the paper: Caffe), and pinned host memory"});

}  // namespace
}  // namespace uvmsim
