#include "plan/plan_choices.h"

#include <set>
#include <utility>

#include "base/number_text.h"

namespace uvmsim {
namespace {

constexpr const char* kKept = "keep";

std::string by(const std::string& what, const std::string& codec) {
  return codec.empty() ? what : what + " by " + codec;
}

struct WhatOf {
  std::string operator()(const Move& m) const { return by("move", m.codec); }
  std::string operator()(const Drop&) const { return "drop"; }
  std::string operator()(const Recompute&) const { return "recompute"; }
  std::string operator()(const Encode& e) const { return by("encode", e.codec); }
  std::string operator()(const HostCompute&) const { return "compute on the host"; }
};

// The planners of a file: "vdnn", "g10, vdnn".
std::string planners_of(const PlanFile& file) {
  std::set<std::string> names;
  for (const Plan& plan : file.plans) names.insert(plan.planner.empty() ? "a plan" : plan.planner);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string family_of(std::span<const Plan> plans) {
  bool moves = false, encodes = false, recomputes = false, encoded_moves = false;
  for (const Plan& plan : plans)
    for (const Action& action : plan.actions) {
      if (const auto* m = std::get_if<Move>(&action)) (m->codec.empty() ? moves : encoded_moves) = true;
      moves |= std::holds_alternative<HostCompute>(action);
      encodes |= std::holds_alternative<Encode>(action);
      recomputes |= std::holds_alternative<Recompute>(action);
    }
  const bool swaps = moves && !encoded_moves;  // what a codec would not make smaller travels with what it does
  const bool compresses = encodes || encoded_moves;
  if (swaps + compresses + recomputes > 1) return "hybrid";
  return compresses ? "compress" : recomputes ? "recompute" : "swap";
}

std::string what_of(const Action& action) { return std::visit(WhatOf{}, action); }

std::map<std::string, ActionCount> action_counts(const Plan& plan) {
  std::map<std::string, ActionCount> counts;
  for (const Action& action : plan.actions) {
    ActionCount& count = counts[what_of(action)];
    ++count.actions;
    for (const TensorInterval& i : intervals_of(action)) count.bytes += i.bytes;
  }
  return counts;
}

std::map<ChosenInterval, Choice> choices_of(const PlanFile& file) {
  std::map<ChosenInterval, Choice> choices;
  for (const Plan& plan : file.plans)
    for (const Action& action : plan.actions)
      for (const TensorInterval& i : intervals_of(action))
        choices[{plan.gpu, plan.iteration, plan.first_iteration, i.tensor, i.last_use}] = {plan.planner,
                                                                                           what_of(action), i.bytes};
  return choices;
}

std::vector<std::string> choices_diff(const PlanFile& a, const PlanFile& b) {
  const std::map<ChosenInterval, Choice> first = choices_of(a), second = choices_of(b);
  std::set<ChosenInterval> all;
  for (const auto* choices : {&first, &second})
    for (const auto& [interval, choice] : *choices) all.insert(interval);
  const std::string by_a = planners_of(a), by_b = planners_of(b);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;  // intervals and bytes
  std::vector<std::string> lines;
  for (const ChosenInterval& interval : all) {
    const auto x = first.find(interval), y = second.find(interval);
    const std::string from = x == first.end() ? kKept : x->second.what, to = y == second.end() ? kKept : y->second.what;
    if (from == to) continue;
    const std::int64_t bytes = x == first.end() ? y->second.bytes : x->second.bytes;
    const std::string both = by_a + " " + from + ", " + by_b + " " + to;
    ++sums[both].first;
    sums[both].second += bytes;
    lines.push_back("gpu" + std::to_string(interval.gpu.value) + " tensor " + std::to_string(interval.tensor) +
                    " after kernel " + std::to_string(interval.last_use) + ", " + bytes_text(bytes) + ": " + both);
  }
  for (const auto& [both, sum] : sums)
    lines.push_back(both + ": " + count_text(sum.first) + (sum.first == 1 ? " interval, " : " intervals, ") +
                    bytes_text(sum.second));
  return lines;
}

}  // namespace uvmsim
