#include <algorithm>
#include <optional>
#include <set>

#include "plan/feature_maps.h"
#include "plan/plan_checker.h"
#include "plan/recomputation.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct CapuchinOptions {
  std::string actions = "hybrid";
  double feedback = 0.05;
  bool collective = true;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = CapuchinOptions;
    static const Description d =
        Describe<O>("swapping by free time, recomputation by memory saved per second")
            .text("actions", &O::actions, "what tensors may do: be swapped, be recomputed, or whichever costs less",
                  {"hybrid", "swap", "recompute"})
            .number(
                "feedback", &O::feedback,
                "share of a copy's time by which it starts earlier after an iteration in which it was late; 0: none",
                {0, 1})
            .flag("collective", &O::collective, "whether what a recomputation makes on its way stays if there is room")
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// A tensor between two accesses that overlap the time in which memory is short.
struct Candidate {
  std::size_t interval = 0;
  Duration free_time{};                // left of the interval beyond the copies out and in; negative: they are exposed
  bool makeable = false;               // again, by kernels
  std::set<std::int32_t> sources{};    // tensors that these kernels begin with
  Duration recompute{}, repetition{};  // of these kernels; of those that they would add to the chosen ones
};

// What is chosen, and what there is left to choose from.
class Choice {
 public:
  Choice(const Profile& profile, const Lineage& lineage, const CapuchinOptions& options, std::int64_t limit)
      : profile_(profile),
        options_(options),
        limit_(limit),
        load_(profile.graph->load),
        begun_with_(profile.graph->tensors.size()) {
    const std::vector<std::size_t> by_making = recomputable(profile, lineage, options.min_bytes);
    const std::set<std::size_t> makeable(by_making.begin(), by_making.end());
    for (std::size_t n = 0; n < profile.intervals.size(); ++n) {
      const Interval& i = profile.intervals[n];
      if (i.wraps || i.dead || i.bytes < options.min_bytes.value || i.tensor < profile.shape().held) continue;
      if (load_.most_between(i.last_use, i.next_use) <= limit) continue;
      Candidate c{.interval = n, .free_time = i.slack, .makeable = makeable.contains(n)};
      if (c.makeable) {
        const std::vector<std::int32_t> inputs = lineage.of(i.tensor).inputs;
        c.sources = {inputs.begin(), inputs.end()};
        c.recompute = lineage.of(i.tensor).time;
      }
      left_.push_back(std::move(c));
    }
    trace_freed_sources(lineage);
  }

  void run() {
    if (options_.actions != "recompute") take_hidden_swaps();
    take_cheapest_ones();
    if (!short_of_memory()) return;
    load_ = load_if_kernels_wait();
    take_cheapest_ones();
  }

  const std::vector<std::size_t>& swapped() const { return swapped_; }
  std::vector<std::size_t> recomputed() const {
    std::vector<std::size_t> intervals;
    for (const Candidate& c : recomputed_) intervals.push_back(c.interval);
    return intervals;
  }
  const LoadCurve& load() const { return load_; }  // without what is chosen

 private:
  const Interval& of(const Candidate& c) const { return profile_.intervals[c.interval]; }
  bool short_of_memory() const { return load_.most() > limit_; }
  bool relieves(const Candidate& c) const { return load_.most_between(of(c).last_use, of(c).next_use) > limit_; }
  double saved_per_second(const Candidate& c) const {
    return static_cast<double>(of(c).bytes) / std::max(1e-9, seconds(c.recompute + c.repetition));
  }

  // Sources that the iteration has freed by the next use are made again, too.
  void trace_freed_sources(const Lineage& lineage) {
    for (Candidate& c : left_) {
      std::vector<std::int32_t> open(c.sources.begin(), c.sources.end());
      while (!open.empty()) {
        const std::int32_t source = open.back();
        open.pop_back();
        if (lineage.allocated(source, of(c).next_use)) continue;
        c.sources.erase(source);
        c.recompute += lineage.of(source).time;
        for (const std::int32_t input : lineage.of(source).inputs)
          if (c.sources.insert(input).second) open.push_back(input);
      }
    }
  }

  void leave(std::size_t candidate) {
    const Interval& i = of(left_[candidate]);
    load_.free_between(i.last_use, i.next_use, i.bytes);
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(candidate));
  }

  // In the order of their free time, the longest first, as long as all copies are hidden: nobody waits for a tensor,
  // or, where something can be made again instead, for the memory of one that is still being copied out.
  void take_hidden_swaps() {
    std::ranges::stable_sort(left_, std::greater<>{}, &Candidate::free_time);
    std::size_t n = 0;
    while (short_of_memory() && n < left_.size() && left_[n].free_time >= Duration{0}) {
      if (relieves(left_[n]) && exposed(&of(left_[n])) == Duration{0}) {
        swapped_.push_back(left_[n].interval);
        left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(n));
        load_ = options_.actions == "swap" ? load_if_kernels_wait() : load_while_copied();
      } else {
        ++n;
      }
    }
  }

  void take_cheapest_ones() {
    while (short_of_memory() && take_cheapest()) {
    }
  }

  // What is swapped holds its memory until it is copied out.
  LoadCurve load_while_copied() const {
    LoadCurve load(profile_.graph->load);
    for (const Copies& c : copies_out(nullptr)) {
      const std::int32_t gone = profile_.starts.first_from(c.gone);
      load.free_between(std::min(gone - 1, c.of->next_use), c.of->next_use, c.of->bytes);
    }
    return load;
  }
  // It holds none from its last use on, and who needs memory waits.
  LoadCurve load_if_kernels_wait() const {
    LoadCurve load(profile_.graph->load);
    const auto free = [&](std::size_t n) {
      const Interval& i = profile_.intervals[n];
      load.free_between(i.last_use, i.next_use, i.bytes);
    };
    for (const std::size_t n : swapped_) free(n);
    for (const Candidate& c : recomputed_) free(c.interval);
    return load;
  }

  // By how much the copy that is exposed most is more so if the candidate swaps, too: copies in one direction run one
  // after the other, out in the order of the last uses, in so that each ends before the next one.
  Duration exposed_by(const Candidate& candidate) const { return exposed(&of(candidate)) - exposed(nullptr); }

  Duration exposed(const Interval* another) const {
    std::vector<Copies> all = copies_out(another);
    Time in = kNever;
    std::ranges::sort(all, std::greater<>{}, [](const Copies& c) { return std::pair(c.of->next_use, c.of->tensor); });
    Duration most{};
    for (const Copies& c : all) {
      in = std::min(in, c.of->needed) - profile_.links.in_time(c.of->bytes);
      most = std::max(most, c.gone - in);
    }
    return most;
  }

  struct Copies {
    const Interval* of = nullptr;
    Time gone{};  // when the copy out ends
  };
  // Of what swaps, and of `another`, in the order of their last uses.
  std::vector<Copies> copies_out(const Interval* another) const {
    std::vector<Copies> all;
    for (const std::size_t n : swapped_) all.push_back({&profile_.intervals[n]});
    if (another != nullptr) all.push_back({another});
    std::ranges::sort(all, {}, [](const Copies& c) { return std::pair(c.of->last_use, c.of->tensor); });
    Time out{};
    for (Copies& c : all) c.gone = out = std::max(out, c.of->over) + profile_.links.out_time(c.of->bytes);
    return all;
  }

  // Of the swap that is exposed least and the recomputation that saves most memory per second, what takes less time.
  bool take_cheapest() {
    std::optional<std::size_t> swap, again;
    for (std::size_t n = 0; n < left_.size(); ++n) {
      const Candidate& c = left_[n];
      if (options_.actions != "recompute" && (!swap || c.free_time > left_[*swap].free_time) && relieves(c)) swap = n;
      if (options_.actions != "swap" && c.makeable &&
          (!again || saved_per_second(c) > saved_per_second(left_[*again])) && relieves(c))
        again = n;
    }
    if (!swap && !again) return false;
    if (!again || (swap && exposed_by(left_[*swap]) < left_[*again].recompute + left_[*again].repetition)) {
      swapped_.push_back(left_[*swap].interval);
      leave(*swap);
    } else {
      const Candidate taken = left_[*again];
      leave(*again);
      recompute(taken);
    }
    return true;
  }

  // What began with the tensor begins with its sources, and takes as much longer.
  void recompute(Candidate taken) {
    const std::int32_t tensor = of(taken).tensor;
    const auto begins_with = [&](const Candidate& c) { return c.sources.contains(tensor); };
    const auto inherit = [&](Candidate& c, int chosen) {
      c.sources.erase(tensor);
      begun_with(tensor) -= chosen;
      for (const std::int32_t source : taken.sources)
        if (c.sources.insert(source).second) begun_with(source) += chosen;
      c.recompute += taken.recompute;
    };
    for (Candidate& c : recomputed_)
      if (begins_with(c)) inherit(c, 1);
    for (const std::int32_t source : taken.sources) ++begun_with(source);
    for (Candidate& c : left_) {
      if (begins_with(c)) inherit(c, 0);
      c.repetition = c.recompute * begun_with(of(c).tensor);
    }
    recomputed_.push_back(std::move(taken));
  }
  int& begun_with(std::int32_t tensor) { return begun_with_[static_cast<std::size_t>(tensor)]; }

  const Profile& profile_;
  const CapuchinOptions& options_;
  const std::int64_t limit_;
  LoadCurve load_;
  std::vector<Candidate> left_;
  std::vector<std::size_t> swapped_;
  std::vector<Candidate> recomputed_;
  std::vector<int> begun_with_;  // by tensor: how many of `recomputed_` begin with it
};

// The paper's measured iteration, with the time taken out that it waited for copies, is the profile. Copies occupy the
// link one after the other: each copy in starts so that it ends before the next one, or when there is room after that.
// After an iteration in which it was late it is started earlier. What is made again is made when a kernel needs it.
//
// On hardware: a framework that sees each access to a tensor (the paper's TensorFlow, in graph and in eager mode).
class Capuchin final : public With<Planner, CapuchinOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

  bool revises() const override { return options_.feedback > 0; }

  std::vector<Plan> revise(std::span<const Profile> gpus, std::span<const Plan> plans, const Observed& seen,
                           PlanServices&) const override {
    std::vector<Plan> revised(plans.begin(), plans.end());
    for (std::size_t p = 0; p < revised.size(); ++p) {
      LoadCurve load = load_with_returns(gpus[p], revised[p]);
      for (std::size_t a = 0; a < revised[p].actions.size(); ++a)
        if (auto* move = std::get_if<Move>(&revised[p].actions[a]);
            move != nullptr && seen.actions[p][a].lateness > Duration{0})
          start_earlier(gpus[p], *move, load);
      if (!check_plan(*gpus[p].graph, revised[p], limits_for(gpus[p], gpus.size())).errors.empty())
        revised[p] = plans[p];
    }
    return std::ranges::equal(revised, plans) ? std::vector<Plan>{} : revised;
  }

 private:
  // Bytes held under the plan, from when on tensors come back.
  static LoadCurve load_with_returns(const Profile& profile, const Plan& plan) {
    LoadCurve load(load_under(profile, plan));
    for (const Action& action : plan.actions) {
      if (const auto* move = std::get_if<Move>(&action))
        load.add(move->in.at.kernel, move->of.next_use, move->of.bytes);
      if (const auto* again = std::get_if<Recompute>(&action))
        for (const TensorInterval& i : again->tensors) load.add(again->before, i.next_use, i.bytes);
    }
    return load;
  }

  // By a share of the copy's time, but by one kernel at least, if there is room by then.
  void start_earlier(const Profile& profile, Move& move, LoadCurve& load) const {
    const Duration step = from_seconds(options_.feedback * seconds(profile.links.in_time(move.of.bytes)));
    const std::int32_t from = move.in.at.kernel;
    std::int32_t kernel = from;
    while (kernel > move.of.last_use + 1 &&
           (kernel == from || profile.starts.reached(kernel) > profile.starts.reached(from) - step))
      --kernel;
    if (load.most(kernel, from) + move.of.bytes > profile.budget.value) return;
    load.add(kernel, from, move.of.bytes);
    move.in.at.kernel = kernel;
  }

  Plan plan_of(const Profile& profile) const {
    const Lineage lineage(*profile.graph);
    Plan plan = plan_for_less(profile, kPlans, empty_plan(profile, "capuchin"),
                              [&](std::int64_t limit) { return plan_for(profile, lineage, limit); });
    prove(profile, plan);
    if (plan.reclaim == "lms") plan.reclaim = "earliest";  // its passive mode
    return plan;
  }

  static constexpr int kPlans = 5;

  Plan plan_for(const Profile& profile, const Lineage& lineage, std::int64_t limit) const {
    Plan plan = empty_plan(profile, "capuchin");
    plan.reclaim = "none";
    Choice choice(profile, lineage, options_, limit);
    choice.run();
    LoadCurve load = choice.load();
    add_swaps(profile, choice.swapped(), limit, load, plan);
    plan.why = moved_text(plan);
    const std::vector<std::size_t> dropped = choice.recomputed();
    const auto leaves = [&](std::int32_t tensor, std::int32_t kernel) {
      return use_of(*profile.graph, kernel, tensor) == nullptr && !stays(profile, tensor, kernel, limit, load);
    };
    const Recomputation r = recompute_on_demand(profile, lineage, dropped, leaves);
    plan.why += "; " + recomputed_text(r);
    add_segments(r, plan);
    return plan;
  }

  static void add_swaps(const Profile& profile, std::vector<std::size_t> swapped, std::int64_t limit, LoadCurve& load,
                        Plan& plan) {
    std::ranges::stable_sort(swapped, std::greater<>{}, [&](std::size_t n) { return profile.intervals[n].next_use; });
    std::vector<std::int32_t> earliest;  // kernels with which the copies in start, the last one first
    Time start = kNever;
    for (const std::size_t n : swapped) {
      const Interval& i = profile.intervals[n];
      start = std::min(start, i.needed) - profile.links.in_time(i.bytes);
      earliest.push_back(profile.starts.last_until(start));
    }
    for (std::size_t s = swapped.size(); s-- > 0;) {
      const Interval& i = profile.intervals[swapped[s]];
      plan.actions.push_back(Move{.of = of_interval(i),
                                  .out = {{Trigger::On::AfterKernel, i.last_use}},
                                  .in = {{Trigger::On::BeforeKernel, bring_back(i, earliest[s], limit, load)}}});
    }
  }

  // Whether what a segment before `kernel` makes on its way stays until its next use, which `load` then has.
  bool stays(const Profile& profile, std::int32_t tensor, std::int32_t kernel, std::int64_t limit,
             LoadCurve& load) const {
    const GraphTensor& t = profile.graph->tensors[static_cast<std::size_t>(tensor)];
    const auto next = std::ranges::upper_bound(t.uses, kernel);
    if (!options_.collective || next == t.uses.end() || load.most(kernel, *next) + t.bytes > limit) return false;
    load.add(kernel, *next, t.bytes);
    return true;
  }
};

const bool kRegistered = add_plug_in<Planner, Capuchin>(
    {.name = "capuchin",
     .summary = "swap what is idle longest or recompute what saves most memory per second, whichever costs less",
     .source = "Peng et al., Capuchin: Tensor-based GPU Memory Management for Deep Learning, ASPLOS 2020, section 4",
     .on_hardware = "a framework that sees each access to a tensor, and pinned host memory"});

}  // namespace
}  // namespace uvmsim
