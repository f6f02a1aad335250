#include <algorithm>

#include "plan/feature_maps.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct TflmsOptions {
  bool tune = true;
  int threshold = 10;
  int ahead = 1;
  int groupby = 0;
  int sync_mode = 0;
  double memory = 0.9;
  Bytes min_bytes{1 << 10};

  static const Description& description() {
    using O = TflmsOptions;
    static const Description d =
        Describe<O>("swap operations put into the graph")
            .flag("tune", &O::tune, "whether the memory simulator finds threshold, sync_mode, ahead and groupby")
            .integer("threshold", &O::threshold, "a tensor is swapped across more levels than this", {1, 1'000'000},
                     "levels")
            .integer("ahead", &O::ahead, "levels before its consumer at which a copy in may start", {1, 1'000'000},
                     "levels")
            .integer("groupby", &O::groupby, "a consumer within this many levels of the last use shares its copy in",
                     {0, 1'000'000}, "levels")
            .integer("sync_mode", &O::sync_mode, "computation waits for: 0 nothing, 1 copies out, 2 copies in, 3 both",
                     {0, 3})
            .number("memory", &O::memory, "share of device memory that the memory simulator fits into", {0, 1})
            .bytes("min_bytes", &O::min_bytes,
                   "smaller tensors stay (TFLMS leaves out those of at most one dimension, which a trace does not say)")
            .build();
    return d;
  }
};

struct Tuning {
  std::int32_t threshold = 1, ahead = 1, groupby = 0;
  int sync_mode = 0;
};

// Where kernels stand in the data flow: the longest way to them.
class Levels {
 public:
  explicit Levels(const IterationGraph& graph) : of_(graph.kernels.size()) {
    std::vector<std::int32_t> made(graph.tensors.size(), -1);  // level of the last writer
    for (std::int32_t k = 0; k < graph.shape.kernels; ++k) {
      std::int32_t& level = of_[static_cast<std::size_t>(k)];
      for (const TensorUse& u : graph.uses_of(k))
        if (!u.overwrites) level = std::max(level, made[static_cast<std::size_t>(u.tensor)] + 1);
      for (const TensorUse& u : graph.uses_of(k))
        if (u.writes) made[static_cast<std::size_t>(u.tensor)] = level;
      if (static_cast<std::size_t>(level) >= at_.size()) at_.resize(static_cast<std::size_t>(level) + 1);
      at_[static_cast<std::size_t>(level)].push_back(k);
    }
  }
  std::int32_t count() const { return static_cast<std::int32_t>(at_.size()); }
  std::int32_t of(std::int32_t kernel) const { return of_[static_cast<std::size_t>(kernel)]; }

  // The last kernel between `after` and `before` at `level` or, searched in this order, up to ten levels below it; -1.
  std::int32_t trigger(std::int32_t level, std::int32_t after, std::int32_t before) const {
    constexpr std::int32_t kFurther = 10;
    for (std::int32_t l = level; l >= std::max(0, level - kFurther); --l) {
      const std::vector<std::int32_t>& kernels = at_[static_cast<std::size_t>(l)];
      const auto found = std::ranges::lower_bound(kernels, before);
      if (found != kernels.begin() && *(found - 1) > after) return *(found - 1);
    }
    return -1;
  }

 private:
  std::vector<std::int32_t> of_;               // by kernel
  std::vector<std::vector<std::int32_t>> at_;  // by level: kernels, ascending
};

// Puts swaps into the data flow graph before it runs. The level of a kernel is the longest way to it. A tensor that the
// iteration makes is swapped in anew for each consumer more than `threshold` levels after its producer, unless its last
// use is within `groupby` levels; the copy in is started by a kernel at the level `ahead` before the consumer. The copy
// on the host stays for later consumers: a tensor is copied out once. The auto-tuner first tries no swaps, then
// searches by bisection the largest threshold that fits with ahead 1, at the lowest sync_mode that fits at all, then
// the largest ahead, then the largest groupby. Its memory simulator counts references by levels; a copy out that is not
// waited for takes one.
//
// On hardware: a session hook of TensorFlow 1, which rewrites the graph.
class Tflms final : public With<Planner, TflmsOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  Plan plan_of(const Profile& profile) const {
    Plan plan = empty_plan(profile, "tflms");
    const Levels levels(*profile.graph);
    Tuning tuning{options_.threshold, options_.ahead, options_.groupby, options_.sync_mode};
    if (options_.tune) {
      const auto limit = static_cast<std::int64_t>(options_.memory * static_cast<double>(profile.budget.value));
      if (peak_by_levels(profile, levels, {.threshold = levels.count()}) <= limit) {
        plan.why = "the iteration fits: nothing is swapped";
        prove(profile, plan);
        return plan;
      }
      tuning = tuned(profile, levels, limit);
    }
    for (const Interval& i : profile.intervals) {
      if (!swaps(profile, levels, i, tuning)) continue;
      const Sync out = tuning.sync_mode % 2 == 1 ? Sync::Host : Sync::Alloc;
      const Sync in = tuning.sync_mode / 2 == 1 ? Sync::Host : Sync::Stream;
      plan.actions.push_back(Move{.of = of_interval(i),
                                  .out = {{Trigger::On::AfterKernel, i.last_use}, out},
                                  .in = {trigger(levels, i, tuning), in}});
    }
    plan.why = "threshold " + std::to_string(tuning.threshold) + ", ahead " + std::to_string(tuning.ahead) +
               ", groupby " + std::to_string(tuning.groupby) + ", sync_mode " + std::to_string(tuning.sync_mode) +
               " of " + std::to_string(levels.count()) + " levels: " + moved_text(plan);
    keep_copies(profile, 1, plan);
    prove(profile, plan);
    return plan;
  }

  bool swaps(const Profile& profile, const Levels& levels, const Interval& i, const Tuning& tuning) const {
    if (i.tensor < profile.shape().held || i.dead || i.bytes < options_.min_bytes.value) return false;
    const std::vector<std::int32_t>& writers = profile.graph->tensors[static_cast<std::size_t>(i.tensor)].writers;
    const auto producer = std::ranges::lower_bound(writers, i.next_use);
    const std::int32_t made = producer == writers.begin() ? -1 : levels.of(*(producer - 1)),
                       next = levels.of(i.next_use);
    return next - made > tuning.threshold && next - levels.of(i.last_use) > tuning.groupby;
  }

  static Trigger trigger(const Levels& levels, const Interval& i, const Tuning& tuning) {
    const std::int32_t kernel = levels.trigger(levels.of(i.next_use) - tuning.ahead, i.last_use, i.next_use);
    return kernel < 0 ? Trigger{Trigger::On::BeforeKernel, i.next_use} : Trigger{Trigger::On::BeforeKernel, kernel};
  }

  // The most that is held at any level: a tensor from its first kernel's level to its last one's, less the levels
  // between a copy out and the copy in.
  std::int64_t peak_by_levels(const Profile& profile, const Levels& levels, const Tuning& tuning) const {
    const IterationGraph& graph = *profile.graph;
    std::vector<std::int64_t> change(static_cast<std::size_t>(levels.count()) + 1);
    const auto hold = [&](std::int32_t from, std::int32_t outer, std::int64_t bytes) {
      if (from >= outer) return;
      change[static_cast<std::size_t>(from)] += bytes;
      change[static_cast<std::size_t>(outer)] -= bytes;
    };
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(graph.tensors.size()); ++t) {
      const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(t)];
      std::int32_t first = levels.count(), last = -1;
      for (const std::int32_t k : tensor.uses)
        first = std::min(first, levels.of(k)), last = std::max(last, levels.of(k));
      const bool held = t < graph.shape.held;
      hold(held ? 0 : first, held ? levels.count() : last + 1, tensor.bytes);
    }
    const std::int32_t copy_out = tuning.sync_mode % 2 == 1 ? 0 : 1;  // levels that it takes
    for (const Interval& i : profile.intervals)
      if (swaps(profile, levels, i, tuning))
        hold(levels.of(i.last_use) + 1 + copy_out, levels.of(i.next_use) - tuning.ahead, -i.bytes);
    std::int64_t most = 0, now = 0;
    for (const std::int64_t c : change) most = std::max(most, now += c);
    return most;
  }

  // The largest value from `least` on that `fits`, which holds up to some value and not above; `least` - 1: none.
  template <class Fits>
  static std::int32_t largest(std::int32_t least, std::int32_t most, Fits&& fits) {
    std::int32_t low = least - 1, high = most + 1;
    while (high - low > 1) {
      const std::int32_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return low;
  }

  Tuning tuned(const Profile& profile, const Levels& levels, std::int64_t limit) const {
    const auto fits = [&](const Tuning& t) { return peak_by_levels(profile, levels, t) <= limit; };
    Tuning tuning;
    while (tuning.sync_mode < 3 && !fits(tuning)) ++tuning.sync_mode;
    if (!fits(tuning)) return tuning;
    const auto with = [&](std::int32_t Tuning::*value, std::int32_t least) {
      tuning.*value = largest(least, levels.count(), [&](std::int32_t v) {
        Tuning next = tuning;
        next.*value = v;
        return fits(next);
      });
    };
    with(&Tuning::threshold, 1);
    with(&Tuning::ahead, 1);
    with(&Tuning::groupby, 0);
    return tuning;
  }
};

const bool kRegistered = add_plug_in<Planner, Tflms>(
    {.name = "tflms",
     .summary = "swap tensors over many levels of the data flow; parameters by an auto-tuner",
     .source = "Le et al., ISMM 2019: Automatic GPU Memory Management for Large Neural Models in TensorFlow; "
               "IBM/tensorflow-large-model-support, branch tflmsv2",
     .on_hardware = "TensorFlow 1 with the TFLMS session hook"});

}  // namespace
}  // namespace uvmsim
