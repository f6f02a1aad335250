#include "plan/planners/swap_mip.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace uvmsim {
namespace {

constexpr double kMiB = 1 << 20;

using Terms = std::vector<std::pair<std::size_t, double>>;

double milliseconds(Duration d) { return seconds(d) * 1e3; }

std::string name(const char* what, std::size_t g, std::size_t i, std::int64_t k = -1) {
  return what + std::string("_") + std::to_string(g) + "_" + std::to_string(i) + (k < 0 ? "" : "_" + std::to_string(k));
}

// The first kernel of each slot. The longest slot is cut where it is, best at a kernel at which bytes begin or cease to
// be needed: a copy in that may not begin before a slot ends waits for all of it.
std::vector<std::int32_t> cuts(const Profile& profile, const std::vector<std::size_t>& candidates, std::size_t slots) {
  std::set<std::int32_t> uses;
  for (const std::size_t n : candidates) {
    uses.insert(profile.intervals[n].last_use + 1);
    uses.insert(profile.intervals[n].next_use);
  }
  const auto start = [&](std::int32_t k) {
    return k == profile.shape().kernels ? profile.length : profile.starts.reached(k);
  };
  std::vector<std::int32_t> first = {0};
  while (first.size() < std::min(slots, profile.graph->kernels.size())) {
    std::size_t longest = 0;
    Duration length{-1};
    const auto outer = [&](std::size_t s) { return s + 1 == first.size() ? profile.shape().kernels : first[s + 1]; };
    for (std::size_t s = 0; s < first.size(); ++s)
      if (outer(s) - first[s] > 1 && start(outer(s)) - start(first[s]) > length)
        length = start(outer(s)) - start(first[s]), longest = s;
    const Time middle = start(first[longest]) + length / 2;
    std::int32_t cut = -1;
    Duration nearest_distance = kNever;
    for (std::int32_t k = first[longest] + 1; k < outer(longest); ++k) {
      Duration distance = start(k) < middle ? middle - start(k) : start(k) - middle;
      if (!uses.contains(k)) distance += length / 4;
      if (distance < nearest_distance) nearest_distance = distance, cut = k;
    }
    first.insert(first.begin() + static_cast<std::ptrdiff_t>(longest) + 1, cut);
  }
  return first;
}

}  // namespace

SwapProblem swap_problem(const Profile& profile, const std::vector<std::size_t>& candidates, std::size_t slots,
                         double budget) {
  std::vector<std::size_t> usable;
  for (const std::size_t n : candidates)
    if (!profile.intervals[n].wraps && !profile.intervals[n].dead) usable.push_back(n);
  const std::vector<std::int32_t> first = cuts(profile, usable, std::max<std::size_t>(slots, 1));
  SwapProblem problem{.duration = {}, .load = {}, .intervals = {}, .budget = budget / kMiB};
  const auto slot_of = [&](std::int32_t kernel) {
    return static_cast<std::int32_t>(std::ranges::upper_bound(first, kernel) - first.begin()) - 1;
  };
  for (std::size_t s = 0; s < first.size(); ++s) {
    const bool last = s + 1 == first.size();
    const std::int32_t outer = last ? profile.shape().kernels : first[s + 1];
    const Time begin = profile.starts.reached(first[s]);
    const Time end = last ? profile.length : profile.starts.reached(outer);
    problem.duration.push_back(milliseconds(end - begin));
    const auto load = std::span(profile.graph->load)
                          .subspan(static_cast<std::size_t>(first[s]), static_cast<std::size_t>(outer - first[s]));
    problem.load.push_back(static_cast<double>(std::ranges::max(load)) / kMiB);
    problem.last_kernel.push_back(outer - 1);
  }
  std::map<std::pair<std::int32_t, std::int32_t>, SlotInterval> merged;
  for (const std::size_t n : usable) {
    const Interval& i = profile.intervals[n];
    const std::int32_t a = slot_of(i.last_use), b = slot_of(i.next_use);
    if (b - a < 2) continue;
    SlotInterval& slot = merged[{a, b}];
    slot.last_use = a;
    slot.next_use = b;
    slot.size += static_cast<double>(i.bytes) / kMiB;
    slot.out += milliseconds(profile.links.out_time(i.bytes));
    slot.in += milliseconds(profile.links.in_time(i.bytes));
    slot.members.push_back(n);
  }
  for (auto& [slots_used, interval] : merged) problem.intervals.push_back(std::move(interval));
  return problem;
}

SwapModel::SwapModel(std::span<const SwapProblem> gpus, const SwapCoupling& coupling) {
  for (const SwapProblem& p : gpus) {
    horizon_ += std::accumulate(p.duration.begin(), p.duration.end(), 0.0);
    for (const SlotInterval& i : p.intervals) horizon_ += i.out + i.in;
  }
  end_ = model_.add_variable("makespan", false, 1);
  for (std::size_t g = 0; g < gpus.size(); ++g) add_gpu(gpus[g], g);
  add_queues(gpus, coupling.shared_link);
  for (std::size_t i = 0; coupling.disjoint && gpus.size() > 1 && i < gpus[0].intervals.size(); ++i) {
    std::vector<std::pair<std::size_t, double>> terms;
    if (!coupling.enforce) terms.emplace_back(model_.add_variable(name("p", 0, i), false, coupling.penalty), 1);
    for (std::size_t g = 0; g < gpus.size(); ++g) terms.emplace_back(swapped_[g][i], -1);
    model_.add_row(terms, -1);  // sum of x <= 1 + p
  }
}

void SwapModel::add_gpu(const SwapProblem& problem, std::size_t g) {
  const std::size_t slots = problem.duration.size();
  std::vector<std::size_t>& start = start_.emplace_back();
  for (std::size_t k = 0; k < slots; ++k) start.push_back(model_.add_variable(name("t", g, k), false));
  for (std::size_t k = 0; k + 1 < slots; ++k) model_.add_row({{start[k + 1], 1}, {start[k], -1}}, problem.duration[k]);
  model_.add_row({{end_, 1}, {start.back(), -1}}, problem.duration.back());

  swapped_.emplace_back();
  out_.emplace_back();
  in_.emplace_back();
  absences_.emplace_back();
  last_uses_.emplace_back();
  for (std::size_t i = 0; i < problem.intervals.size(); ++i) {
    const SlotInterval& v = problem.intervals[i];
    const auto a = static_cast<std::size_t>(v.last_use), b = static_cast<std::size_t>(v.next_use);
    const std::size_t x = model_.add_variable(name("x", g, i), true);
    const std::size_t o = model_.add_variable(name("o", g, i), false), q = model_.add_variable(name("q", g, i), false);
    swapped_[g].push_back(x);
    out_[g].push_back(o);
    in_[g].push_back(q);
    last_uses_[g].push_back(v.last_use);
    model_.add_row({{o, 1}, {start[a], -1}}, problem.duration[a]);              // out after the last use
    model_.add_row({{q, 1}, {o, -1}, {x, -horizon_}}, v.out - horizon_);        // in after out
    model_.add_row({{start[b], 1}, {q, -1}, {x, -horizon_}}, v.in - horizon_);  // the next use waits
    std::size_t out_before = 0, in_before = 0;
    bool first = true;
    for (std::size_t k = a + 1; k < b; ++k) {
      if (problem.load[k] <= problem.budget) continue;
      const auto slot = static_cast<std::int64_t>(k);
      const std::size_t gone = model_.add_variable(name("out", g, i, slot), true);
      const std::size_t back = model_.add_variable(name("in", g, i, slot), true);
      model_.add_row({{x, 1}, {gone, -1}}, 0);
      model_.add_row({{gone, 1}, {back, -1}}, 0);
      // Memory is free only after the copy; a copy in that does not count as holding memory starts after the slot.
      model_.add_row({{start[k], 1}, {o, -1}, {gone, -horizon_}}, v.out - horizon_);
      model_.add_row({{q, 1}, {start[k], -1}, {back, horizon_}, {x, -horizon_}}, problem.duration[k] - horizon_);
      if (!first) {
        model_.add_row({{gone, 1}, {out_before, -1}}, 0);
        model_.add_row({{back, 1}, {in_before, -1}}, 0);
      }
      first = false;
      out_before = gone;
      in_before = back;
      absences_[g].push_back({i, static_cast<std::int32_t>(k), gone, back});
    }
  }
  add_memory(problem, g);
  add_implied(problem, g);
}

void SwapModel::add_memory(const SwapProblem& problem, std::size_t g) {
  std::vector<Terms> relief(problem.load.size());
  for (const Absence& a : absences_[g]) {
    const double size = problem.intervals[a.interval].size;
    relief[static_cast<std::size_t>(a.slot)].emplace_back(a.gone, size);
    relief[static_cast<std::size_t>(a.slot)].emplace_back(a.back, -size);
  }
  for (std::size_t k = 0; k < problem.load.size(); ++k) {
    if (problem.load[k] <= problem.budget) continue;
    double most = 0;
    for (const auto& [variable, size] : relief[k]) most += std::max(size, 0.0);
    may_be_feasible_ = may_be_feasible_ && most >= problem.load[k] - problem.budget;
    if (!relief[k].empty()) model_.add_row(relief[k], problem.load[k] - problem.budget);
  }
}

// What follows from the rows above for whole numbers alone, without which the solver's bound is that of kernels that
// wait for nothing. What is gone when slot k starts went out one after the other, after the first of its last uses;
// what may not come in before slot k is over comes in one after the other, before the last of its next uses.
void SwapModel::add_implied(const SwapProblem& problem, std::size_t g) {
  std::map<std::pair<std::int32_t, std::int32_t>, Terms> out, in;  // by slot, and last or next use
  for (const Absence& a : absences_[g]) {
    const SlotInterval& v = problem.intervals[a.interval];
    out[{a.slot, v.last_use}];
    in[{a.slot, v.next_use}];
  }
  for (const Absence& a : absences_[g]) {
    const SlotInterval& v = problem.intervals[a.interval];
    for (auto row = out.lower_bound({a.slot, 0}); row != out.end() && row->first <= std::pair(a.slot, v.last_use);
         ++row)
      row->second.emplace_back(a.gone, -v.out);
    for (auto row = in.lower_bound({a.slot, v.next_use}); row != in.end() && row->first.first == a.slot; ++row) {
      row->second.emplace_back(swapped_[g][a.interval], -v.in);
      row->second.emplace_back(a.back, v.in);
    }
  }
  const auto add = [&](std::int32_t from, std::int32_t to, Terms row) {
    row.emplace_back(start_[g][static_cast<std::size_t>(to)], 1);
    row.emplace_back(start_[g][static_cast<std::size_t>(from)], -1);
    model_.add_row(std::move(row), problem.duration[static_cast<std::size_t>(from)]);
  };
  for (auto& [slots, row] : out) add(slots.second, slots.first, std::move(row));
  for (auto& [slots, row] : in) add(slots.first, slots.second, std::move(row));
}

// First in, first out: copies out by last use, copies in by next use; ties by interval, then GPU.
void SwapModel::add_queues(std::span<const SwapProblem> gpus, bool shared) {
  struct Copy {
    std::int32_t use;
    std::size_t interval, gpu;
    auto operator<=>(const Copy&) const = default;
  };
  for (const bool out : {true, false}) {
    std::vector<std::vector<Copy>> queues(shared ? 1 : gpus.size());
    for (std::size_t g = 0; g < gpus.size(); ++g)
      for (std::size_t i = 0; i < gpus[g].intervals.size(); ++i) {
        const SlotInterval& v = gpus[g].intervals[i];
        queues[shared ? 0 : g].push_back({out ? v.last_use : v.next_use, i, g});
      }
    for (std::vector<Copy>& queue : queues) {
      std::ranges::sort(queue);
      for (std::size_t n = 0; n + 1 < queue.size(); ++n) {
        const Copy &a = queue[n], &b = queue[n + 1];
        const SlotInterval& v = gpus[a.gpu].intervals[a.interval];
        const auto& starts = out ? out_ : in_;
        model_.add_row({{starts[b.gpu][b.interval], 1},
                        {starts[a.gpu][a.interval], -1},
                        {swapped_[a.gpu][a.interval], out ? -v.out : -v.in}},
                       0);
      }
    }
  }
}

std::vector<SwapModel::Choice> SwapModel::choices(std::size_t gpu, const MipSolution& solution) const {
  std::vector<Choice> chosen;
  for (std::size_t i = 0; i < swapped_[gpu].size(); ++i) {
    if (solution.values[swapped_[gpu][i]] < 0.5) continue;
    chosen.push_back({.interval = i, .after_slot = last_uses_[gpu][i]});
  }
  for (const Absence& a : absences_[gpu]) {
    const auto choice = std::ranges::find(chosen, a.interval, &Choice::interval);
    if (choice != chosen.end() && solution.values[a.back] < 0.5)
      choice->after_slot = std::max(choice->after_slot, a.slot);
  }
  return chosen;
}

}  // namespace uvmsim
