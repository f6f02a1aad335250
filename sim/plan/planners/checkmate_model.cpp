#include "plan/planners/checkmate_model.h"

#include <string>
#include <utility>

namespace uvmsim {
namespace {

using Terms = std::vector<std::pair<std::size_t, double>>;

// The variables of node `node` in stage `stage`, two for each.
struct Variables {
  std::size_t nodes = 0;
  std::size_t kept(std::size_t stage, std::size_t node) const { return 2 * (stage * nodes + node); }
  std::size_t made(std::size_t stage, std::size_t node) const { return kept(stage, node) + 1; }
};

// What has to be made so that each stage has what it needs, where `wish(stage, node)` stays if it can.
template <class Wish>
CheckmateSchedule completed(const CheckmateProblem& problem, Wish&& wish) {
  const std::size_t nodes = problem.nodes.size();
  CheckmateSchedule schedule;
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    std::vector<bool> kept(nodes), made(nodes), needed(nodes);
    for (std::size_t i = 0; i < nodes; ++i)
      kept[i] = wish(t, i) && (t == 0 || schedule.kept[t - 1][i] || schedule.made[t - 1][i]);
    for (const std::size_t i : problem.stages[t].needs) needed[i] = true;
    for (std::size_t i = nodes; i-- > 0;) {
      made[i] = needed[i] && !kept[i];
      if (made[i])
        for (const std::size_t read : problem.nodes[i].reads) needed[read] = true;
    }
    schedule.kept.push_back(std::move(kept));
    schedule.made.push_back(std::move(made));
  }
  return schedule;
}

// kept + made <= 1 and what depends on it, for one node in one stage.
void add_rows(const CheckmateProblem& problem, const Variables& v, std::size_t t, std::size_t i, MipModel& model) {
  model.add_row({{v.kept(t, i), -1.0}, {v.made(t, i), -1.0}}, -1);
  if (t > 0) model.add_row({{v.kept(t - 1, i), 1.0}, {v.made(t - 1, i), 1.0}, {v.kept(t, i), -1.0}}, 0);
  for (const std::size_t read : problem.nodes[i].reads)
    model.add_row({{v.kept(t, read), 1.0}, {v.made(t, read), 1.0}, {v.made(t, i), -1.0}}, 0);
}

}  // namespace

MipModel checkmate_model(const CheckmateProblem& problem, bool relaxed) {
  const Variables v{problem.nodes.size()};
  MipModel model;
  for (std::size_t t = 0; t < problem.stages.size(); ++t)
    for (std::size_t i = 0; i < v.nodes; ++i) {
      const std::string at = "_" + std::to_string(t) + "_" + std::to_string(i);
      model.add_variable("kept" + at, !relaxed);
      model.add_variable("made" + at, !relaxed, problem.nodes[i].time);
    }
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    const CheckmateProblem::Stage& stage = problem.stages[t];
    Terms memory;
    for (std::size_t i = 0; i < v.nodes; ++i) {
      add_rows(problem, v, t, i, model);
      if (stage.bytes[i] == 0) continue;
      memory.emplace_back(v.kept(t, i), -stage.bytes[i]);
      memory.emplace_back(v.made(t, i), -stage.bytes[i]);
    }
    if (!memory.empty()) model.add_row(std::move(memory), stage.held - problem.budget);
    for (const std::size_t i : stage.needs) model.add_row({{v.kept(t, i), 1.0}, {v.made(t, i), 1.0}}, 1);
  }
  for (const CheckmateProblem::Peak& peak : problem.peaks) {
    Terms memory;
    for (std::size_t i = 0; i < v.nodes; ++i)
      if (peak.bytes[i] > 0) memory.emplace_back(v.kept(0, i), -peak.bytes[i]);
    if (!memory.empty()) model.add_row(std::move(memory), peak.held - problem.budget);
  }
  return model;
}

CheckmateSchedule schedule_of(const CheckmateProblem& problem, const std::vector<double>& values) {
  const Variables v{problem.nodes.size()};
  CheckmateSchedule schedule;
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    schedule.kept.emplace_back(v.nodes);
    schedule.made.emplace_back(v.nodes);
    for (std::size_t i = 0; i < v.nodes; ++i) {
      schedule.kept[t][i] = values[v.kept(t, i)] > 0.5;
      schedule.made[t][i] = values[v.made(t, i)] > 0.5;
    }
  }
  return schedule;
}

std::vector<std::pair<std::size_t, bool>> values_of(const CheckmateSchedule& schedule) {
  std::vector<std::pair<std::size_t, bool>> values;
  for (std::size_t t = 0; t < schedule.kept.size(); ++t) {
    const Variables v{schedule.kept[t].size()};
    for (std::size_t i = 0; i < v.nodes; ++i) {
      values.emplace_back(v.kept(t, i), schedule.kept[t][i]);
      values.emplace_back(v.made(t, i), schedule.made[t][i]);
    }
  }
  return values;
}

CheckmateSchedule rounded_schedule(const CheckmateProblem& problem, const std::vector<double>& values,
                                   double threshold) {
  const Variables v{problem.nodes.size()};
  return completed(problem, [&](std::size_t t, std::size_t i) { return values[v.kept(t, i)] > threshold; });
}

CheckmateSchedule equidistant_schedule(const CheckmateProblem& problem, std::size_t distance) {
  return completed(problem, [&](std::size_t, std::size_t i) { return (i + 1) % distance == 0; });
}

double time_of(const CheckmateProblem& problem, const CheckmateSchedule& schedule) {
  double time = 0;
  for (const std::vector<bool>& made : schedule.made)
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i]) time += problem.nodes[i].time;
  return time;
}

bool fits(const CheckmateProblem& problem, const CheckmateSchedule& schedule) {
  constexpr double kRounding = 1e-6;  // MiB
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    double held = problem.stages[t].held;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i)
      if (schedule.kept[t][i] || schedule.made[t][i]) held += problem.stages[t].bytes[i];
    if (held > problem.budget + kRounding) return false;
  }
  for (const CheckmateProblem::Peak& peak : problem.peaks) {
    double held = peak.held;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i)
      if (schedule.kept[0][i]) held += peak.bytes[i];
    if (held > problem.budget + kRounding) return false;
  }
  return true;
}

}  // namespace uvmsim
