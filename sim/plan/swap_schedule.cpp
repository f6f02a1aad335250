#include "plan/swap_schedule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "base/number_text.h"
#include "plan/codec.h"
#include "plan/planner.h"

namespace uvmsim {

// --- layers, tensors and nodes

LayerRuns::LayerRuns(const IterationGraph& graph, int merged) {
  const bool layers = graph.layer_ends.size() > 1;
  const std::size_t count = layers ? graph.layer_ends.size() : graph.kernels.size();
  for (std::size_t n = 0; n < count; ++n)
    if ((n + 1) % static_cast<std::size_t>(merged) == 0 || n + 1 == count)
      last_.push_back(layers ? graph.layer_ends[n] : static_cast<std::int32_t>(n));
}

std::int32_t LayerRuns::of(std::int32_t kernel) const {
  return static_cast<std::int32_t>(std::ranges::lower_bound(last_, kernel) - last_.begin());
}

std::string kind_of(const IterationGraph& graph, std::int32_t tensor) {
  const std::uint8_t kind = graph.tensors[static_cast<std::size_t>(tensor)].kind;
  return kind < graph.kinds.size() ? graph.kinds[kind] : "";
}

const LinkModel& link_to(const Profile& profile, const std::string& node) {
  const auto found = std::ranges::find(profile.nodes, node, &NodeLink::name);
  return found == profile.nodes.end() ? profile.links : found->links;
}

const NodeLink* node_of_kind(const Profile& profile, const std::string& kind) {
  const auto found = std::ranges::find(profile.nodes, kind, &NodeLink::kind);
  return found == profile.nodes.end() ? nullptr : &*found;
}

// --- choosing and placing

std::vector<std::size_t> take_until_fits(const Profile& profile, const std::vector<std::size_t>& order,
                                         std::int64_t limit, LoadCurve& curve) {
  std::vector<std::size_t> taken;
  for (const std::size_t n : order) {
    if (curve.most() <= limit) break;
    const Interval& i = profile.intervals[n];
    if (curve.most_between(i.last_use, i.next_use) <= limit) continue;
    curve.free_between(i.last_use, i.next_use, i.bytes);
    taken.push_back(n);
  }
  return taken;
}

void bring_back_early(std::int32_t not_before, std::int64_t limit, LoadCurve& curve, std::vector<Move>& moves) {
  std::ranges::stable_sort(moves, {}, [](const Move& m) { return m.of.next_use; });
  std::erase_if(moves, [&](Move& m) {
    const TensorInterval& of = m.of;
    if (curve.most_between(of.last_use, of.next_use) + of.bytes <= limit) {
      curve.free_between(of.last_use, of.next_use, -of.bytes);
      return true;
    }
    const std::int32_t from = std::min(of.next_use, std::max(not_before, of.wraps() ? 0 : of.last_use + 1));
    const std::int32_t first = std::max(from, curve.last_over(from, of.next_use, limit - of.bytes) + 1);
    m.in.at = {Trigger::On::BeforeKernel, first};
    curve.add(first, of.next_use, of.bytes);
    return false;
  });
}

// --- the time of a plan

namespace {

// One iteration in the steady state: what a plan moves across its border is away when it begins. Walked in the order of
// issue; `now_` is the moment on the GPU that the walk has come to: the end of the kernel issued last.
class Estimate {
 public:
  Estimate(const Profile& profile, const Plan& plan)
      : profile_(profile),
        graph_(*profile.graph),
        away_(graph_.tensors.size()),
        arrives_(graph_.tensors.size()),
        over_(arrives_),
        written_(arrives_) {
    const std::size_t places = 2 * graph_.kernels.size() + 2;
    leave_.resize(places);
    enter_.resize(places);
    made_.resize(graph_.kernels.size() + 1);
    freed_.resize(graph_.kernels.size() + 1);
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      const GraphTensor& tensor = graph_.tensors[t];
      made_[static_cast<std::size_t>(tensor.first)].push_back(static_cast<std::int32_t>(t));
      if (tensor.freed) freed_[static_cast<std::size_t>(tensor.outer)].push_back(static_cast<std::int32_t>(t));
    }
    for (const Action& action : plan.actions) {
      if (const auto* m = std::get_if<Move>(&action)) add(*m);
      if (const auto* d = std::get_if<Drop>(&action)) leave_[place(d->at)].push_back({d->of.tensor, nullptr});
    }
  }

  Duration run() {
    const auto kernels = static_cast<std::int32_t>(graph_.kernels.size());
    for (std::int32_t k = 0; k <= kernels; ++k) {
      for (const std::int32_t t : freed_[static_cast<std::size_t>(k)]) free(t);
      for (const std::int32_t t : made_[static_cast<std::size_t>(k)])
        if (!away_[static_cast<std::size_t>(t)]) take(bytes_of(t));
      if (k == kernels) break;
      at_place(2 * static_cast<std::size_t>(k));
      kernel(k);
      at_place(2 * static_cast<std::size_t>(k) + 1);
    }
    return std::max(now_, last_) - Time{};
  }

 private:
  struct Leaving {
    std::int32_t tensor = 0;
    const Move* move = nullptr;  // nullptr: without a copy
  };
  struct Departure {
    Time at{};
    std::int64_t bytes = 0;
    bool operator>(const Departure& other) const { return at > other.at; }
  };

  static std::size_t place(const Trigger& t) {
    return 2 * static_cast<std::size_t>(t.kernel) + (t.on == Trigger::On::AfterKernel ? 1 : 0);
  }
  std::int64_t bytes_of(std::int32_t t) const { return graph_.tensors[static_cast<std::size_t>(t)].bytes; }
  const LinkModel& link(const Move& m) const { return link_to(profile_, m.to); }
  std::int64_t copied(const Move& m) const {
    return encoded_bytes(m.codec, {.bytes = Bytes{m.of.bytes}, .sparsity = m.sparsity, .ratio = m.ratio});
  }

  void add(const Move& m) {
    const auto tensor = static_cast<std::size_t>(m.of.tensor);
    const Trigger out = copies_during_last_use(m) ? Trigger{Trigger::On::AfterKernel, m.of.last_use} : m.out.at;
    leave_[place(out)].push_back({m.of.tensor, &m});
    const bool demanded = m.in.at.on == Trigger::On::Access;
    const std::size_t in = demanded ? 2 * static_cast<std::size_t>(m.of.next_use) : place(m.in.at);
    enter_[in].push_back(&m);
    if (m.of.wraps() && in <= 2 * static_cast<std::size_t>(m.of.next_use)) away_[tensor] = true;
  }

  void at_place(std::size_t place) {
    for (const Leaving& l : leave_[place]) {
      if (away_[static_cast<std::size_t>(l.tensor)]) continue;
      away_[static_cast<std::size_t>(l.tensor)] = true;
      if (l.move == nullptr) {
        held_ -= bytes_of(l.tensor);
        continue;
      }
      out_free_ = std::max({out_free_, now_, over_[static_cast<std::size_t>(l.tensor)]}) +
                  link(*l.move).out_time(copied(*l.move));
      departing_.push({out_free_, l.move->of.bytes});
    }
    for (const Move* m : enter_[place]) waiting_.push_back(m);
    while (next_ < waiting_.size() && enter(*waiting_[next_], false)) ++next_;
  }

  // Whether it has come or needs not; `now`: there is room or it is made.
  bool enter(const Move& m, bool now) {
    const auto t = static_cast<std::size_t>(m.of.tensor);
    if (!away_[t]) return true;
    while (held_ + m.of.bytes > profile_.budget.value && !departing_.empty() && departing_.top().at <= now_) leave();
    if (!now && held_ + m.of.bytes > profile_.budget.value) return false;
    take(m.of.bytes);
    away_[t] = false;
    in_free_ = std::max(in_free_, now_) + link(m).in_time(copied(m));
    arrives_[t] = in_free_;
    return true;
  }

  void kernel(std::int32_t k) {
    const GraphKernel& kernel = graph_.kernels[static_cast<std::size_t>(k)];
    for (const TensorUse& use : graph_.uses_of(k)) {
      const auto t = static_cast<std::size_t>(use.tensor);
      if (away_[t]) demand(use.tensor, use.overwrites);
      awaited_ = std::max({awaited_, arrives_[t], use.writes ? over_[t] : written_[t]});
    }
    const Duration idle = idle_before(k);
    Duration& late = late_[kernel.stream];
    late = std::max(profile_.start(k) + late - idle, std::exchange(awaited_, {})) + idle - profile_.start(k);
    now_ = profile_.end(k) + late;
    last_ = std::max(last_, now_);
    for (const TensorUse& use : graph_.uses_of(k)) {
      const auto t = static_cast<std::size_t>(use.tensor);
      over_[t] = std::max(over_[t], now_);
      if (use.writes) written_[t] = now_;
    }
  }

  // The GPU has nothing to do before it starts in the profile.
  Duration idle_before(std::int32_t k) const {
    const std::int32_t place = profile_.starts.place_of(k);
    return profile_.start(k) -
           (place == 0 ? Time{} : profile_.end(profile_.starts.in_time()[static_cast<std::size_t>(place) - 1]));
  }

  // It is not there yet: copied in at once, unless its contents are dead.
  void demand(std::int32_t tensor, bool dead) {
    for (std::size_t n = next_; n < waiting_.size(); ++n)
      if (waiting_[n]->of.tensor == tensor && enter(*waiting_[n], true)) return;
    take(bytes_of(tensor));
    away_[static_cast<std::size_t>(tensor)] = false;
    if (dead) return;
    in_free_ = std::max(in_free_, now_) + profile_.links.in_time(bytes_of(tensor));
    arrives_[static_cast<std::size_t>(tensor)] = in_free_;
  }

  // Once its uses are over.
  void free(std::int32_t tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    if (!away_[t]) departing_.push({over_[t], bytes_of(tensor)});
  }
  // The first departure is over; when that is.
  Time leave() {
    const Departure first = departing_.top();
    departing_.pop();
    held_ -= first.bytes;
    return first.at;
  }
  // Waits for copies out; what is missing then makes room by a copy out and one back.
  void take(std::int64_t bytes) {
    held_ += bytes;
    while (held_ > profile_.budget.value && !departing_.empty()) awaited_ = std::max(awaited_, leave());
    now_ = std::max(now_, awaited_);
    const std::int64_t missing = held_ - borrowed_ - profile_.budget.value;
    if (missing <= 0) return;
    borrowed_ += missing;
    awaited_ = now_ += profile_.links.out_time(missing) + profile_.links.in_time(missing);
  }

  const Profile& profile_;
  const IterationGraph& graph_;
  std::vector<char> away_;
  std::vector<Time> arrives_;         // tensors: their copies in are over
  std::vector<Time> over_, written_;  // and their uses so far; the last write
  std::vector<std::vector<Leaving>> leave_;
  std::vector<std::vector<const Move*>> enter_;
  std::vector<std::vector<std::int32_t>> made_, freed_;  // tensors, by the kernel that follows
  std::vector<const Move*> waiting_;                     // from next_ on
  std::size_t next_ = 0;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departing_;
  std::map<std::int32_t, Duration> late_;  // by stream: behind the profile
  Time now_{}, last_{}, out_free_{}, in_free_{};
  Time awaited_{};  // by the kernel that comes next
  std::int64_t held_ = 0;
  std::int64_t borrowed_ = 0;  // bytes beyond the budget that were paid for
};

// Copies in at one place start in the order of their uses; the CPU works on what has left there.
std::int32_t order_of(const Action& action, std::int32_t kernels) {
  if (std::holds_alternative<HostCompute>(action)) return 2 * kernels;
  const auto* m = std::get_if<Move>(&action);
  if (m == nullptr) return -1;
  const bool next_iteration = m->of.wraps() && m->in.at.on != Trigger::On::Access && m->in.at.kernel > m->of.next_use;
  return m->of.next_use + (next_iteration ? kernels : 0);
}

}  // namespace

Duration estimated_time(const Profile& profile, const Plan& plan) { return Estimate(profile, plan).run(); }

// --- the last step

PlanLimits limits_for(const Profile& profile, std::size_t gpus) {
  PlanLimits limits{.device = profile.budget.value};
  for (const NodeLink& node : profile.nodes) {
    limits.nodes[node.name] = node.capacity.value / static_cast<std::int64_t>(std::max<std::size_t>(gpus, 1));
    if (node.nearest) limits.nearest = node.name;
  }
  return limits;
}

namespace {

// Whether the tensor is the same when `next` moves it as when it came back from `before`: no kernel of those that use
// it in between writes to it.
bool unchanged(const GraphTensor& tensor, const Move& before, const Move& next) {
  if (next.to != before.to || next.codec != before.codec) return false;
  const auto writes = [&](std::int32_t first, std::int32_t last) {
    const auto writer = std::ranges::lower_bound(tensor.writers, first);
    return writer != tensor.writers.end() && *writer <= last;
  };
  const std::int32_t from = before.of.next_use, to = next.of.last_use;
  if (from <= to) return !writes(from, to);
  return !writes(from, std::numeric_limits<std::int32_t>::max()) && !writes(0, to);  // in the next iteration
}

}  // namespace

void keep_copies(const Profile& profile, std::size_t gpus, Plan& plan) {
  Plan kept = plan;
  std::map<std::int32_t, std::vector<Move*>> moves;  // by tensor
  for (Action& action : kept.actions)
    if (auto* m = std::get_if<Move>(&action)) moves[m->of.tensor].push_back(m);
  for (auto& [tensor, list] : moves) {
    std::ranges::sort(list, {}, [](const Move* m) { return m->of.last_use; });
    const bool held = tensor < profile.shape().held;  // it is moved again in the next iteration
    for (std::size_t m = 0; m < list.size(); ++m) {
      if (m + 1 == list.size() && !held) continue;
      const Move& next = *list[(m + 1) % list.size()];
      list[m]->keep = unchanged(profile.graph->tensors[static_cast<std::size_t>(tensor)], *list[m], next);
    }
  }
  if (check_plan(*profile.graph, kept, limits_for(profile, gpus)).errors.empty()) plan = std::move(kept);
}

void sort_by_use(const Profile& profile, Plan& plan) {
  std::ranges::stable_sort(plan.actions, {},
                           [&](const Action& action) { return order_of(action, profile.shape().kernels); });
}

void conclude(const Profile& profile, std::size_t gpus, Plan& plan) {
  const std::vector<std::int64_t> load = load_under(profile, plan);
  plan.feasible = load.empty() || std::ranges::max(load) <= profile.budget.value;
  if (!plan.feasible)
    plan.why += "; " + bytes_text(std::ranges::max(load)) + " stay, the budget is " + bytes_text(profile.budget.value);
  const PlanProof proof = check_plan(*profile.graph, plan, limits_for(profile, gpus));
  if (proof.errors.empty()) return;
  plan.actions.clear();
  plan.feasible = false;
  plan.why = "nothing is planned: " + proof.errors.front().message;
}

}  // namespace uvmsim
