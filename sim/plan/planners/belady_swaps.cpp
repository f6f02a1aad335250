#include "plan/planners/belady_swaps.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace uvmsim {
namespace {

class BeladyWalk {
 public:
  BeladyWalk(const Profile& profile, const MemoryDivision& division)
      : graph_(*profile.graph),
        division_(division),
        state_(graph_.tensors.size()),
        used_(graph_.kernels.size() + 1),
        freed_(graph_.kernels.size() + 1),
        made_(graph_.kernels.size() + 1) {
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (division.pool_of[t] < 0) continue;
      const GraphTensor& tensor = graph_.tensors[t];
      for (const std::int32_t k : tensor.uses) used_[index(k)].push_back(static_cast<std::int32_t>(t));
      if (t >= static_cast<std::size_t>(graph_.shape.held))
        made_[static_cast<std::size_t>(tensor.first)].push_back(static_cast<std::int32_t>(t));
      if (tensor.freed) freed_[static_cast<std::size_t>(tensor.outer)].push_back(static_cast<std::int32_t>(t));
    }
    for (const MemoryPool& p : division.pools) pools_.push_back({.room = p.room, .free = {{-1, p.room}}});
  }

  std::optional<std::vector<Action>> run() {
    for (int iteration = 0; iteration < 2; ++iteration) {
      swaps_.clear();
      begin(iteration > 0);
      for (std::int32_t t = 0; t < graph_.shape.held; ++t)  // which has no interval that reaches into an iteration
        if (in_pool(t) && !at(t).here && !comes_again(t) && !take(t, -1)) return std::nullopt;
      for (std::int32_t k = 0; k < graph_.shape.kernels; ++k)
        if (!kernel(k)) return std::nullopt;
    }
    return actions();
  }

 private:
  struct State {
    bool here = false, began_away = false;
    std::size_t next = 0;   // of its uses, the one to come
    std::int64_t key = -1;  // of its pool's victims; -1: it is none
  };
  struct Free {
    std::int32_t since = -1;  // the kernel after which it is free
    std::int64_t room = 0;
  };
  struct OpenPool {
    std::int64_t room = 0;    // the sum of `free`
    std::deque<Free> free{};  // earliest first
    std::set<std::pair<std::int64_t, std::int32_t>> victims{};
  };
  struct Swap {
    std::int32_t tensor = -1, last_use = -1, next_use = -1;
    std::int32_t in = -1;  // the kernel after which there is room again; -1: not known
  };

  static std::size_t index(std::int32_t n) { return static_cast<std::size_t>(n); }
  State& at(std::int32_t t) { return state_[index(t)]; }
  const std::vector<std::int32_t>& uses(std::int32_t t) const { return graph_.tensors[index(t)].uses; }
  bool in_pool(std::int32_t t) const { return division_.pool_of[index(t)] >= 0; }
  OpenPool& pool(std::int32_t t) { return pools_[index(division_.pool_of[index(t)])]; }
  std::int64_t room_for(std::int32_t t) const {
    return division_.pools[index(division_.pool_of[index(t)])].counts_bytes ? graph_.tensors[index(t)].bytes : 1;
  }
  bool comes_again(std::int32_t t) const {
    return t < graph_.shape.held && !graph_.tensors[index(t)].freed && !uses(t).empty();
  }

  // When it is used next, from its `next` on; -1: never. Without a use before, it cannot leave.
  std::int64_t next_use(std::int32_t t) {
    const State& s = at(t);
    if (s.next < uses(t).size()) return s.next > 0 || comes_again(t) ? uses(t)[s.next] : -1;
    return comes_again(t) ? uses(t)[0] + graph_.shape.kernels : -1;
  }
  void enlist(std::int32_t t) {
    State& s = at(t);
    if (s.key >= 0) pool(t).victims.erase({s.key, t});
    s.key = s.here ? next_use(t) : -1;
    if (s.key >= 0) pool(t).victims.insert({s.key, t});
  }

  // An iteration begins with the held tensors that the one before left here; the first one with none.
  void begin(bool second) {
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(state_.size()); ++t) {
      if (!in_pool(t)) continue;
      if (!comes_again(t)) leave(t, -1);
      at(t).next = 0;
      at(t).began_away = second && comes_again(t) && !at(t).here;
      enlist(t);
    }
    for (OpenPool& p : pools_)
      for (Free& f : p.free) f.since = -1;
  }

  bool kernel(std::int32_t k) {
    for (const std::int32_t t : made_[index(k)])
      if (!take(t, k)) return false;
    for (const std::int32_t t : used_[index(k)])
      if (!at(t).here && !bring(t, k)) return false;
    for (const std::int32_t t : used_[index(k)]) {
      ++at(t).next;
      enlist(t);
    }
    for (const std::int32_t t : freed_[index(k)]) leave(t, k);
    return true;
  }

  // Room for `t` in its pool at kernel `k`, by victims that it does not need. `*after`: the kernel after which there
  // is.
  bool take(std::int32_t t, std::int32_t k, std::int32_t* after = nullptr) {
    OpenPool& p = pool(t);
    std::int64_t missing = room_for(t);
    while (p.room < missing) {
      if (p.victims.empty() || p.victims.rbegin()->first <= k) return false;
      evict(p.victims.rbegin()->second);
    }
    p.room -= missing;
    while (missing > 0) {
      Free& f = p.free.front();
      const std::int64_t part = std::min(missing, f.room);
      if (after != nullptr) *after = std::max(*after, f.since);
      missing -= part;
      f.room -= part;
      if (f.room == 0) p.free.pop_front();
    }
    at(t).here = true;
    enlist(t);
    return true;
  }

  bool bring(std::int32_t t, std::int32_t k) {
    std::int32_t after = -1;
    if (!take(t, k, &after)) return false;
    const State& s = at(t);
    const std::int32_t last = s.next > 0 ? uses(t)[s.next - 1] : uses(t).back();
    swaps_[{t, last}] = {t, last, uses(t)[s.next], after};
    return true;
  }

  void evict(std::int32_t t) {
    const State& s = at(t);
    const std::int32_t last = s.next > 0 ? uses(t)[s.next - 1] : uses(t).back();
    const std::int32_t next = s.next < uses(t).size() ? uses(t)[s.next] : uses(t)[0];
    swaps_.try_emplace({t, last}, Swap{t, last, next, -1});
    leave(t, s.next > 0 ? last : -1);
  }
  void leave(std::int32_t t, std::int32_t since) {
    if (!at(t).here) return;
    at(t).here = false;
    enlist(t);
    pool(t).room += room_for(t);
    pool(t).free.push_back({since, room_for(t)});
  }

  std::vector<Action> actions() {
    for (std::int32_t t = 0; t < graph_.shape.held; ++t)  // what begins away has to end away
      if (at(t).began_away) swaps_.try_emplace({t, uses(t).back()}, Swap{t, uses(t).back(), uses(t)[0], -1});
    std::vector<Action> actions;
    for (const auto& [key, s] : swaps_) {
      const TensorInterval of{s.tensor, s.last_use, s.next_use, graph_.tensors[index(s.tensor)].bytes};
      const Trigger out{Trigger::On::AfterKernel, s.last_use};
      if (graph_.overwrites(s.next_use, s.tensor)) {
        actions.push_back(Drop{of, out});
        continue;
      }
      const bool inside = s.in >= 0 && (of.wraps() ? s.in < s.next_use : s.in > s.last_use && s.in < s.next_use);
      const Trigger early = of.wraps() ? Trigger{Trigger::On::BeforeKernel, 0} : out;
      actions.push_back(Move{.of = of, .out = {out}, .in = {inside ? Trigger{Trigger::On::AfterKernel, s.in} : early}});
    }
    return actions;
  }

  const IterationGraph& graph_;
  const MemoryDivision& division_;
  std::vector<State> state_;
  std::vector<OpenPool> pools_;
  std::vector<std::vector<std::int32_t>> used_, freed_, made_;   // tensors, by kernel
  std::map<std::pair<std::int32_t, std::int32_t>, Swap> swaps_;  // by (tensor, last use)
};

}  // namespace

std::optional<std::vector<Action>> belady_swaps(const Profile& profile, const MemoryDivision& division) {
  return BeladyWalk(profile, division).run();
}

}  // namespace uvmsim
