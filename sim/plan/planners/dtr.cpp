#include <algorithm>
#include <numeric>
#include <set>

#include "plan/feature_maps.h"
#include "plan/recomputation.h"

namespace uvmsim {
namespace {

struct DtrOptions {
  std::string heuristic = "dtr_eq";
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = DtrOptions;
    static const Description d =
        Describe<O>("evicting online what is cheap to make again, large and stale")
            .text("heuristic", &O::heuristic,
                  "the tensor with the least of this is evicted: time to make it again with its evicted neighbourhood, "
                  "exact (dtr; slow on thousands of tensors) or by sets that only grow (dtr_eq), or alone (dtr_local), "
                  "by its size and staleness; time with what was evicted before it by its size (msps); the inverse of "
                  "its staleness (lru) or of its size (size)",
                  {"dtr", "dtr_eq", "dtr_local", "msps", "lru", "size"})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// What the heuristics ask of the tensors that may be evicted: their neighbours, and what is evicted of them.
class Neighbourhood {
 public:
  Neighbourhood(const Profile& profile, const Lineage& lineage, const std::vector<std::size_t>& intervals)
      : nodes_(profile.graph->tensors.size()) {
    for (const std::size_t n : intervals) nodes_[tensor_of(profile, n)].known = true;
    for (const std::size_t n : intervals) connect(profile, lineage, profile.intervals[n]);
    std::iota(set_.begin(), set_.end(), 0);
  }

  void evict(std::int32_t tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    nodes_[t].evicted = true;
    nodes_[t].set = set_.size();
    set_.push_back(set_.size());
    set_time_.push_back(nodes_[t].time);
    for (const auto* side : {&nodes_[t].sources, &nodes_[t].users})
      for (const std::int32_t other : *side)
        if (node(other).evicted) join(node(other).set, nodes_[t].set);
  }
  // Its set keeps the others, connected or not (the paper's approximation).
  void make(std::int32_t tensor) {
    Node& n = nodes_[static_cast<std::size_t>(tensor)];
    if (!n.evicted) return;
    n.evicted = false;
    set_time_[root(n.set)] -= n.time;
  }

  // Seconds to make the tensor again when all that it needs is there.
  double time(std::int32_t tensor) const { return node(tensor).time; }
  // And its evicted neighbours' sets.
  double time_with_sets(std::int32_t tensor) {
    std::set<std::size_t> sets;
    for (const auto* side : {&node(tensor).sources, &node(tensor).users})
      for (const std::int32_t other : *side)
        if (node(other).evicted) sets.insert(root(node(other).set));
    double sum = time(tensor);
    for (const std::size_t s : sets) sum += set_time_[s];
    return sum;
  }
  // And all that is evicted and that it is made of, with `users` what is evicted and made of it, too.
  double time_with_evicted(std::int32_t tensor, bool users) const {
    return time(tensor) + walk(tensor, &Node::sources) + (users ? walk(tensor, &Node::users) : 0);
  }

 private:
  struct Node {
    bool known = false, evicted = false;
    double time = 0;                               // s
    std::vector<std::int32_t> sources{}, users{};  // tensors that may be evicted, too
    std::size_t set = 0;
  };

  const Node& node(std::int32_t tensor) const { return nodes_[static_cast<std::size_t>(tensor)]; }
  static std::size_t tensor_of(const Profile& profile, std::size_t interval) {
    return static_cast<std::size_t>(profile.intervals[interval].tensor);
  }

  void connect(const Profile& profile, const Lineage& lineage, const Interval& i) {
    Node& own = nodes_[static_cast<std::size_t>(i.tensor)];
    if (own.time > 0) return;  // by another interval of the tensor
    std::set<std::int32_t> sources;
    for (const std::int32_t k : lineage.kernels_for({&i.tensor, 1}, i.next_use, [](std::int32_t) { return false; })) {
      own.time += seconds(profile.graph->kernels[static_cast<std::size_t>(k)].duration);
      for (const TensorUse& use : profile.graph->uses_of(k))
        if (!use.overwrites && use.tensor != i.tensor && node(use.tensor).known) sources.insert(use.tensor);
    }
    own.sources.assign(sources.begin(), sources.end());
    for (const std::int32_t s : sources) nodes_[static_cast<std::size_t>(s)].users.push_back(i.tensor);
  }

  std::size_t root(std::size_t set) {
    while (set_[set] != set) set = set_[set] = set_[set_[set]];
    return set;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a), b = root(b);
    if (a == b) return;
    set_[b] = a;
    set_time_[a] += set_time_[b];
  }

  double walk(std::int32_t from, std::vector<std::int32_t> Node::*side) const {
    double sum = 0;
    std::set<std::int32_t> seen;
    std::vector<std::int32_t> open = node(from).*side;
    while (!open.empty()) {
      const std::int32_t t = open.back();
      open.pop_back();
      if (!node(t).evicted || !seen.insert(t).second) continue;
      sum += time(t);
      open.insert(open.end(), (node(t).*side).begin(), (node(t).*side).end());
    }
    return sum;
  }

  std::vector<Node> nodes_;       // by tensor
  std::vector<std::size_t> set_;  // its parent, itself at the root
  std::vector<double> set_time_;  // s, of what is evicted of the set, at the root
};

// The iteration as DTR would run it: kernel by kernel, evicting where memory is short.
class Run {
 public:
  Run(const Profile& profile, const Lineage& lineage, const DtrOptions& options, std::int64_t limit)
      : profile_(profile),
        graph_(*profile.graph),
        options_(options),
        limit_(limit),
        intervals_(recomputable(profile, lineage, options.min_bytes)),
        neighbourhood_(profile, lineage, intervals_),
        recomputation_(profile, lineage),
        tensors_(graph_.tensors.size()) {}

  const Recomputation& run() {
    auto next = intervals_.begin();
    for (std::int32_t k = 0; k < graph_.shape.kernels; ++k) {
      make_for(k);
      while (load_of(k) > limit_ && evict(k)) {
      }
      clock_ += seconds(graph_.kernels[static_cast<std::size_t>(k)].duration);
      for (const TensorUse& use : graph_.uses_of(k)) {
        at(use.tensor).accessed = clock_;
        at(use.tensor).idle = nullptr;
      }
      for (; next != intervals_.end() && profile_.intervals[*next].last_use == k; ++next)
        begin(profile_.intervals[*next]);
    }
    return recomputation_;
  }

 private:
  struct Tensor {
    double accessed = 0;             // s
    const Interval* idle = nullptr;  // the interval that it is in, if it may be evicted
    std::int32_t segment_for = -1;   // the kernel for which a segment made or read it last
  };
  Tensor& at(std::int32_t tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }

  std::int64_t load_of(std::int32_t k) const { return graph_.load[static_cast<std::size_t>(k)] - away_bytes_; }

  void begin(const Interval& interval) {
    at(interval.tensor).idle = &interval;
    idle_.insert(interval.tensor);
  }

  void make_for(std::int32_t k) {
    const std::vector<std::int32_t> made = recomputation_.make_for(k);
    for (const std::int32_t t : made) {
      neighbourhood_.make(t);
      away_bytes_ -= graph_.tensors[static_cast<std::size_t>(t)].bytes;
      if (at(t).idle != nullptr && at(t).idle->next_use > k) idle_.insert(t);
    }
    if (made.empty()) return;
    for (const std::int32_t again : recomputation_.segments().back().kernels) {
      clock_ += seconds(graph_.kernels[static_cast<std::size_t>(again)].duration);
      for (const TensorUse& use : graph_.uses_of(again))
        at(use.tensor).accessed = clock_, at(use.tensor).segment_for = k;
    }
  }

  // Evicts one tensor that kernel k and the segment before it do not use; false: there is none.
  bool evict(std::int32_t k) {
    std::int32_t victim = -1;
    double least = 0;
    for (auto t = idle_.begin(); t != idle_.end();) {
      if (at(*t).idle == nullptr || at(*t).idle->next_use <= k) {
        t = idle_.erase(t);
        continue;
      }
      if (at(*t).segment_for != k)
        if (const double h = heuristic(*t); victim < 0 || h < least) victim = *t, least = h;
      ++t;
    }
    if (victim < 0) return false;
    idle_.erase(victim);
    if (!recomputation_.drop_again(victim)) recomputation_.drop(*at(victim).idle);
    neighbourhood_.evict(victim);
    away_bytes_ += graph_.tensors[static_cast<std::size_t>(victim)].bytes;
    return true;
  }

  double heuristic(std::int32_t t) {
    const auto bytes = static_cast<double>(graph_.tensors[static_cast<std::size_t>(t)].bytes);
    const double stale = std::max(1e-9, clock_ - at(t).accessed);  // s
    const std::string& h = options_.heuristic;
    if (h == "lru") return 1 / stale;
    if (h == "size") return 1 / bytes;
    if (h == "msps") return neighbourhood_.time_with_evicted(t, false) / bytes;
    if (h == "dtr_local") return neighbourhood_.time(t) / (bytes * stale);
    const double time = h == "dtr" ? neighbourhood_.time_with_evicted(t, true) : neighbourhood_.time_with_sets(t);
    return time / (bytes * stale);
  }

  const Profile& profile_;
  const IterationGraph& graph_;
  const DtrOptions& options_;
  const std::int64_t limit_;
  const std::vector<std::size_t> intervals_;  // in the order of their last uses
  Neighbourhood neighbourhood_;
  Recomputation recomputation_;
  std::vector<Tensor> tensors_;
  std::set<std::int32_t> idle_;  // tensors that are there and in an interval
  std::int64_t away_bytes_ = 0;
  double clock_ = 0;  // s, with what runs again
};

// DTR decides at run time, by what it has seen so far: this planner lets it run over the iteration and writes down what
// it does. A reclaim policy could not: it is told of bytes, and what it reclaims goes to host memory. What is evicted
// is dropped in the plan as soon as nothing uses it, earlier than DTR does; only what the backward pass uses is
// evicted. What segments take besides their results is seen when the plan is proved; then DTR runs again with less
// memory.
//
// On hardware: the authors' PyTorch, or MegEngine, whose tensors recompute themselves when they are accessed.
class Dtr final : public With<Planner, DtrOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  static constexpr int kPlans = 5;

  Plan plan_of(const Profile& profile) const {
    const Lineage lineage(*profile.graph);
    Plan plan = empty_plan(profile, "dtr");
    plan.why = "nothing is evicted";
    plan = plan_for_less(profile, kPlans, std::move(plan), [&](std::int64_t limit) {
      Run run(profile, lineage, options_, limit);
      const Recomputation& done = run.run();
      Plan found = empty_plan(profile, "dtr");
      add_segments(done, found);
      found.why = recomputed_text(done);
      return found;
    });
    prove(profile, plan);
    return plan;
  }
};

const bool kRegistered = add_plug_in<Planner, Dtr>(
    {.name = "dtr",
     .summary = "evict online what is cheap to recompute, large and stale; recompute it when a kernel needs it",
     .source = "Kirisame et al., Dynamic Tensor Rematerialization, ICLR 2021, section 4; uwsampl/dtr-prototype",
     .on_hardware = "a framework whose tensors recompute themselves on access (the paper's PyTorch, MegEngine)"});

}  // namespace
}  // namespace uvmsim
