#include "plan/planners/checkmate_groups.h"

#include <algorithm>

#include "plan/feature_maps.h"
#include "plan/load_curve.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

constexpr double kMiB = 1 << 20;

double milliseconds(Duration d) { return seconds(d) * 1e3; }

}  // namespace

CheckmateGroups::CheckmateGroups(const Profile& profile, const Lineage& lineage, int most, Bytes least)
    : profile_(profile), graph_(*profile.graph), lineage_(lineage) {
  std::vector<std::size_t> intervals = recomputable(profile, lineage, least);
  std::erase_if(intervals, [&](std::size_t n) { return profile.intervals[n].last_use >= lineage.backward(); });
  group(intervals, static_cast<std::size_t>(most));
  std::set<std::int32_t> begins = {lineage.backward()};
  for (const Group& g : groups_) begins.insert(first_need(g));
  begins_.assign(begins.begin(), begins.end());
  split();
}

// Layers one after the other, until they make their share of the bytes.
void CheckmateGroups::group(const std::vector<std::size_t>& intervals, std::size_t most) {
  std::int64_t bytes = 0, made = 0;
  for (const std::size_t n : intervals) bytes += profile_.intervals[n].bytes;
  for (const LayerRun& run : layer_runs(graph_)) {
    if (run.first >= lineage_.backward()) break;
    if (groups_.empty() || made * static_cast<std::int64_t>(most) >= bytes * static_cast<std::int64_t>(groups_.size()))
      groups_.push_back({.first = run.first});
    groups_.back().outer = run.outer;
    for (const std::size_t n : intervals)
      if (const std::int32_t k = lineage_.of(profile_.intervals[n].tensor).kernels.back();
          k >= run.first && k < run.outer) {
        groups_.back().intervals.push_back(n);
        groups_.back().tensors.insert(profile_.intervals[n].tensor);
        made += profile_.intervals[n].bytes;
      }
  }
  std::erase_if(groups_, [](const Group& g) { return g.intervals.empty(); });
}

// What other groups are made of is a node of its own, a checkpoint, made of the rest of its group.
void CheckmateGroups::split() {
  std::set<std::int32_t> read;  // by other groups
  for (const Group& g : groups_)
    for (const std::int32_t k : kernels_of(g, g.tensors))
      for (const TensorUse& use : graph_.uses_of(k))
        if (!g.tensors.contains(use.tensor)) read.insert(use.tensor);
  std::vector<Group> nodes;
  for (const Group& g : groups_) {
    Group inside{.first = g.first, .outer = g.outer}, checkpoint = inside;
    for (const std::size_t n : g.intervals) {
      const std::int32_t t = profile_.intervals[n].tensor;
      Group& node = read.contains(t) ? checkpoint : inside;
      node.intervals.push_back(n);
      node.tensors.insert(t);
    }
    inside.kernels = kernels_of(inside, g.tensors);
    checkpoint.kernels = kernels_of(checkpoint, checkpoint.tensors);
    for (Group* node : {&inside, &checkpoint})
      if (!node->tensors.empty()) nodes.push_back(std::move(*node));
  }
  groups_ = std::move(nodes);
}

// That make the group's results again when all of `away` are.
std::vector<std::int32_t> CheckmateGroups::kernels_of(const Group& g, const std::set<std::int32_t>& away) const {
  return lineage_.kernels_for(std::vector(g.tensors.begin(), g.tensors.end()), first_need(g),
                              [&](std::int32_t t) { return away.contains(t); });
}

// The first kernel of the backward pass that uses a result of the group.
std::int32_t CheckmateGroups::first_need(const Group& g) const {
  std::int32_t first = graph_.shape.kernels;
  for (const std::size_t n : g.intervals) first = std::min(first, profile_.intervals[n].next_use);
  return first;
}

std::int32_t CheckmateGroups::end(std::size_t stage) const {
  return stage + 1 < begins_.size() ? begins_[stage + 1] : graph_.shape.kernels;
}

// --- the program

CheckmateProblem CheckmateGroups::program(std::int64_t budget, bool pages) const {
  CheckmateProblem p{.budget = static_cast<double>(budget) / kMiB};
  for (std::size_t g = 0; g < groups_.size(); ++g) p.nodes.push_back(node(g));
  const std::vector<std::int64_t> rest = load_of_the_rest();
  for (std::size_t s = 0; s < begins_.size(); ++s) p.stages.push_back(stage(s, rest));
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (g == 0 || groups_[g].first != groups_[g - 1].first) p.peaks.push_back(peak(groups_[g], rest));
  if (pages) p.paging = paging();
  return p;
}

CheckmateProblem::Node CheckmateGroups::node(std::size_t g) const {
  CheckmateProblem::Node n;
  std::set<std::size_t> reads;
  for (const std::int32_t k : groups_[g].kernels) {
    n.time += seconds(graph_.kernels[static_cast<std::size_t>(k)].duration) * 1e3;
    for (const TensorUse& use : graph_.uses_of(k))
      for (std::size_t other = 0; other < g; ++other)
        if (groups_[other].tensors.contains(use.tensor)) reads.insert(other);
  }
  n.reads.assign(reads.begin(), reads.end());
  return n;
}

// Bytes at each kernel without what the groups make.
std::vector<std::int64_t> CheckmateGroups::load_of_the_rest() const {
  std::vector<std::int64_t> load = graph_.load;
  for (const Group& g : groups_)
    for (const std::int32_t t : g.tensors)
      for (std::int32_t k = tensor(t).first; k < tensor(t).outer; ++k)
        load[static_cast<std::size_t>(k)] -= tensor(t).bytes;
  return load;
}

CheckmateProblem::Stage CheckmateGroups::stage(std::size_t s, const std::vector<std::int64_t>& rest) const {
  CheckmateProblem::Stage stage{.begin = milliseconds(profile_.starts.reached(begins_[s]))};
  std::int64_t held = 0;
  std::set<std::size_t> needs;
  for (std::int32_t k = begins_[s]; k < end(s); ++k) {
    held = std::max(held, rest[static_cast<std::size_t>(k)]);
    for (const TensorUse& use : graph_.uses_of(k))
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].tensors.contains(use.tensor)) needs.insert(g);
  }
  stage.held = static_cast<double>(held) / kMiB;
  stage.needs.assign(needs.begin(), needs.end());
  for (const Group& g : groups_) {
    std::int64_t bytes = 0;
    for (const std::int32_t t : g.tensors)
      if (tensor(t).outer > begins_[s]) bytes += tensor(t).bytes;
    stage.bytes.push_back(static_cast<double>(bytes) / kMiB);
  }
  return stage;
}

// While the kernels of a group run for the first time.
CheckmateProblem::Peak CheckmateGroups::peak(const Group& during, const std::vector<std::int64_t>& rest) const {
  CheckmateProblem::Peak peak{.begin = milliseconds(profile_.starts.reached(during.first))};
  std::vector<std::int64_t> held(rest.begin() + during.first, rest.begin() + during.outer);
  for (const Group& g : groups_) {
    std::int64_t left = 0;
    for (const std::size_t n : g.intervals) {
      const Interval& i = profile_.intervals[n];
      if (i.last_use < during.first) left += i.bytes;
      for (std::int32_t k = std::max(during.first, tensor(i.tensor).first); k < during.outer; ++k)
        if (i.last_use >= during.first) held[static_cast<std::size_t>(k - during.first)] += i.bytes;
    }
    peak.bytes.push_back(static_cast<double>(left) / kMiB);
  }
  peak.held = static_cast<double>(std::ranges::max(held)) / kMiB;
  return peak;
}

// The rates of copies of the groups' results, with what each copy costs besides its bytes.
CheckmateProblem::Paging CheckmateGroups::paging() const {
  double bytes = 0, out = 0, in = 0;
  for (const Group& g : groups_)
    for (const std::size_t n : g.intervals) {
      bytes += static_cast<double>(profile_.intervals[n].bytes) / kMiB;
      out += milliseconds(profile_.links.out_time(profile_.intervals[n].bytes));
      in += milliseconds(profile_.links.in_time(profile_.intervals[n].bytes));
    }
  return {.out = bytes / std::max(out, 1e-9), .in = bytes / std::max(in, 1e-9)};
}

// --- the plan

void CheckmateGroups::add_schedule(const CheckmateSchedule& schedule, std::int64_t budget, Plan& plan) const {
  Recomputation r(profile_, lineage_);
  std::vector<Move> moves;
  for (std::size_t s = 0; s < begins_.size(); ++s) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (schedule.kept[s][g]) continue;
      if (schedule.comes_back(s, g))
        move(groups_[g], begins_[s], r, moves);
      else
        drop(groups_[g], begins_[s], r);
    }
    for (std::int32_t k = begins_[s]; k < end(s); ++k) r.make_for(k);
  }
  for (const Move& m : bring_back(std::move(moves), r, budget)) plan.actions.emplace_back(m);
  add_segments(r, plan);
  keep_copies(profile_, 1, plan);
}

// The interval of the tensor that ends at its first use from kernel `from` on; nullptr: none has begun.
const Interval* CheckmateGroups::interval_into(std::int32_t t, std::int32_t from) const {
  const std::vector<std::int32_t>& uses = tensor(t).uses;
  const auto next = std::ranges::lower_bound(uses, from);
  if (next == uses.end() || next == uses.begin()) return nullptr;
  const auto interval = std::ranges::lower_bound(profile_.intervals, std::pair(t, *(next - 1)), {},
                                                 [](const Interval& i) { return std::pair(i.tensor, i.last_use); });
  const bool found = interval != profile_.intervals.end() && interval->tensor == t && interval->last_use == *(next - 1);
  return found ? &*interval : nullptr;
}

// What kernels from `from` on use of the group's results is gone by then.
void CheckmateGroups::drop(const Group& group, std::int32_t from, Recomputation& r) const {
  for (const std::int32_t t : group.tensors) {
    if (r.away(t) || r.drop_again(t)) continue;
    if (const Interval* interval = interval_into(t, from)) r.drop(*interval);
  }
}

// The same, and it is in host memory. What was made again since its last use is made again once more.
void CheckmateGroups::move(const Group& group, std::int32_t from, Recomputation& r, std::vector<Move>& moves) const {
  for (const std::int32_t t : group.tensors) {
    if (r.away(t) || r.drop_again(t)) continue;
    const Interval* interval = interval_into(t, from);
    if (interval == nullptr) continue;
    const TensorInterval of = of_interval(*interval);
    if (std::ranges::find(moves, of, &Move::of) == moves.end())
      moves.push_back({.of = of, .out = {{Trigger::On::AfterKernel, of.last_use}}});
  }
}

std::vector<Move> CheckmateGroups::bring_back(std::vector<Move> moves, const Recomputation& r,
                                              std::int64_t budget) const {
  LoadCurve curve(graph_.load);
  for (const Recompute& segment : r.segments())
    for (const TensorInterval& of : segment.tensors) {
      curve.free_between(of.last_use, of.next_use, of.bytes);
      curve.add(segment.before, of.next_use, of.bytes);
    }
  for (const Move& m : moves) curve.free_between(m.of.last_use, m.of.next_use, m.of.bytes);
  bring_back_early(begins_.front(), budget, curve, moves);
  return moves;
}

}  // namespace uvmsim
