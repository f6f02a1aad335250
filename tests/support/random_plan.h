// Random small programs and random plans for them, most of which cannot be executed.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "plan/plan.h"
#include "plan/profile.h"
#include "workload/trace_builder.h"

namespace uvmsim {

class RandomChoice {
 public:
  explicit RandomChoice(std::uint64_t seed) : random_(seed) {}
  // 0 .. most - 1
  std::int64_t below(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(most, 1)));
  }
  bool percent(int share) { return below(100) < share; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }

 private:
  std::mt19937_64 random_;
};

// Kernels that read, update and overwrite tensors which live for a while or from before, some of them with launch
// variants; three equal iterations.
inline trace::Trace random_program(std::uint64_t seed) {
  TraceBuilder t({});
  std::vector<trace::TensorId> held;
  RandomChoice sizes(seed);
  for (int i = 0; i < 3; ++i) held.push_back(t.allocate(Bytes{512 * (1 + sizes.below(64))}, TensorKind::Param));
  for (int i = 0; i < 3; ++i) {
    RandomChoice choose(seed + 1);
    t.iteration(i);
    std::vector<trace::TensorId> live = held;
    const std::int64_t kernels = 6 + choose.below(12);
    for (std::int64_t k = 0; k < kernels; ++k) {
      std::vector<trace::Access> operands;
      const auto use = [&](trace::TensorId tensor, trace::Mode mode) {
        if (std::ranges::find(operands, tensor, &trace::Access::tensor) == operands.end())
          operands.push_back({.tensor = tensor, .mode = mode});
      };
      if (choose.percent(60)) {
        live.push_back(t.allocate(Bytes{512 * (1 + choose.below(64))}, TensorKind::Activation));
        use(live.back(), trace::Mode::Write);
      }
      if (choose.percent(30)) use(choose.one_of(live), trace::Mode::ReadWrite);
      if (choose.percent(25)) use(choose.one_of(live), trace::Mode::Write);
      for (std::int64_t n = choose.below(3); n >= 0; --n) use(choose.one_of(live), trace::Mode::Read);
      const std::int64_t duration = 1000 * (1 + choose.below(50));
      t.kernel("k" + std::to_string(k), {.duration_ns = duration, .variants = k % 3 == 0 ? 0 : -1}, operands);
      if (live.size() > held.size() + 1 && choose.percent(35)) {
        const auto at = live.begin() + static_cast<std::ptrdiff_t>(held.size()) +
                        choose.below(static_cast<std::int64_t>(live.size() - held.size()));
        t.free(*at);
        live.erase(at);
      }
    }
    for (std::size_t n = held.size(); n < live.size(); ++n) t.free(live[n]);
  }
  trace::Trace trace = t.take();
  trace.variants = {{{.duration_ns = 3000, .workspace = 512 * 20 - 1}, {.duration_ns = 30'000, .workspace = 0}}};
  return trace;
}

// Actions on some of the intervals of `profile`, to the nearest host memory or to its other nodes, and variants of some
// kernels. Copies are awaited by streams or by the host; nothing is reclaimed.
inline Plan random_plan(const Profile& profile, std::uint64_t seed) {
  RandomChoice choose(seed);
  const int share = static_cast<int>(5 + choose.below(60));  // of the intervals that actions are about
  const std::int32_t kernels = profile.shape().kernels;
  Plan plan{.iteration = profile.shape(), .planner = "random", .reclaim = "none"};
  for (const Interval& i : profile.intervals) {
    if (!choose.percent(share)) continue;
    const TensorInterval of{i.tensor, i.last_use, i.next_use, i.bytes};
    const std::int32_t length = i.next_use - i.last_use + (i.wraps ? kernels : 0);
    // A moment after the last use and before the next one.
    const auto moment = [&] {
      return Trigger{Trigger::On::AfterKernel, static_cast<std::int32_t>(i.last_use + choose.below(length)) % kernels};
    };
    const Sync sync = choose.percent(80) ? Sync::Stream : Sync::Host;
    const bool read_last =
        !std::ranges::binary_search(profile.graph->tensors[static_cast<std::size_t>(i.tensor)].writers, i.last_use);
    switch (i.dead ? 0 : choose.below(10)) {
      case 0:
        if (i.dead || choose.percent(20)) plan.actions.push_back(Drop{of, moment()});
        break;
      case 1:
      case 2: {
        Recompute r{.before = i.wraps ? i.next_use : static_cast<std::int32_t>(i.next_use - choose.below(length - 1)),
                    .tensors = {of},
                    .keep = choose.percent(80) ? Recompute::Keep::Interval : Recompute::Keep::Use};
        for (const std::int32_t k : profile.graph->tensors[static_cast<std::size_t>(i.tensor)].writers)
          if (k <= i.last_use) r.kernels.push_back(k);
        if (choose.percent(25)) r.kernels.insert(r.kernels.begin(), static_cast<std::int32_t>(choose.below(kernels)));
        if (r.kernels.empty()) r.kernels.push_back(0);
        if (choose.percent(25))
          r.drop_again.push_back(
              static_cast<std::int32_t>(choose.below(static_cast<std::int64_t>(profile.graph->tensors.size()))));
        plan.actions.push_back(r);
        break;
      }
      case 3:
        plan.actions.push_back(
            Encode{of, moment(), choose.percent(50) ? moment() : Trigger{Trigger::On::Access, 0}, "none"});
        break;
      default: {
        Move m{.of = of, .out = {moment(), sync}};
        if (choose.percent(70)) m.in = {moment(), sync};
        if (read_last && choose.percent(20)) m.out.at = {Trigger::On::BeforeKernel, i.last_use};
        m.keep = choose.percent(50);
        if (m.keep && choose.percent(20)) m.release = Move::Release::Reclaim;
        if (!profile.nodes.empty() && choose.percent(30)) m.to = choose.one_of(profile.nodes).name;
        plan.actions.push_back(m);
      }
    }
  }
  for (std::int32_t k = 0; k < kernels; ++k)
    if (const auto ways = static_cast<std::int64_t>(profile.graph->variants_of(k).size());
        ways > 0 && choose.percent(20))
      plan.variants.push_back({k, static_cast<std::int32_t>(choose.below(ways))});
  return plan;
}

}  // namespace uvmsim
