#include "plan/planners/checkmate_model.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace uvmsim {
namespace {

using Terms = std::vector<std::pair<std::size_t, double>>;

// The variables of node `node` in stage `stage`, two for each, three with paging.
struct Variables {
  std::size_t nodes = 0, each = 0;
  explicit Variables(const CheckmateProblem& problem) : nodes(problem.nodes.size()), each(problem.paging ? 3 : 2) {}
  std::size_t kept(std::size_t stage, std::size_t node) const { return each * (stage * nodes + node); }
  std::size_t made(std::size_t stage, std::size_t node) const { return kept(stage, node) + 1; }
  std::size_t paged(std::size_t stage, std::size_t node) const { return kept(stage, node) + 2; }

  // The node is there, `factor` times.
  void add_there(std::size_t stage, std::size_t node, double factor, Terms& terms) const {
    for (std::size_t n = 0; n < each; ++n) terms.emplace_back(kept(stage, node) + n, factor);
  }
};

// What has to be made or paged so that each stage has what it needs, where `wish(stage, node)` stays if it can, and
// `pages(node)` are never made.
template <class Wish, class Pages>
CheckmateSchedule completed(const CheckmateProblem& problem, Wish&& wish, Pages&& pages) {
  const std::size_t nodes = problem.nodes.size();
  CheckmateSchedule schedule;
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    std::vector<bool> kept(nodes), made(nodes), paged(nodes), needed(nodes);
    for (std::size_t i = 0; i < nodes; ++i) kept[i] = wish(t, i) && (t == 0 ? !pages(i) : schedule.there(t - 1, i));
    for (const std::size_t i : problem.stages[t].needs) needed[i] = true;
    for (std::size_t i = nodes; i-- > 0;) {
      paged[i] = needed[i] && !kept[i] && pages(i);
      made[i] = needed[i] && !kept[i] && !paged[i];
      if (made[i])
        for (const std::size_t read : problem.nodes[i].reads) needed[read] = true;
    }
    schedule.kept.push_back(std::move(kept));
    schedule.made.push_back(std::move(made));
    schedule.paged.push_back(std::move(paged));
  }
  return schedule;
}

// It is there once at most and what depends on it, for one node in one stage.
void add_rows(const CheckmateProblem& problem, const Variables& v, std::size_t t, std::size_t i, MipModel& model) {
  Terms once;
  v.add_there(t, i, -1, once);
  model.add_row(std::move(once), -1);
  if (t > 0) {
    Terms stays = {{v.kept(t, i), -1.0}};
    v.add_there(t - 1, i, 1, stays);
    model.add_row(std::move(stays), 0);
  }
  for (const std::size_t read : problem.nodes[i].reads) {
    Terms made = {{v.made(t, i), -1.0}};
    v.add_there(t, read, 1, made);
    model.add_row(std::move(made), 0);
  }
}

// --- paging: copies are a flow of bytes during the kernels, which wait where it is behind

// The terms of a variable become one.
Terms summed(Terms terms) {
  std::ranges::sort(terms);
  Terms sum;
  for (const auto& [variable, factor] : terms) {
    if (sum.empty() || sum.back().first != variable) sum.emplace_back(variable, 0.0);
    sum.back().second += factor;
  }
  std::erase_if(sum, [](const auto& term) { return term.second == 0; });
  return sum;
}

// Has the node been copied out, and is gone when the backward pass begins? One variable for each.
std::vector<std::size_t> add_copied(const CheckmateProblem& problem, const Variables& v, MipModel& model) {
  std::vector<std::size_t> copied;
  for (std::size_t i = 0; i < v.nodes; ++i) {
    copied.push_back(model.add_variable("copied_" + std::to_string(i), false));
    for (std::size_t t = 0; t < problem.stages.size(); ++t) model.add_row({{copied[i], 1.0}, {v.paged(t, i), -1.0}}, 0);
  }
  return copied;
}

// Of the nodes that will be away, those bytes are gone by each peak that the link has taken since they were used last:
// gone <= gone before + rate * (time + wait), gone <= bytes of nodes copied. All are by the first stage.
void add_copies_out(const CheckmateProblem& problem, const Variables& v, const std::vector<std::size_t>& copied,
                    MipModel& model) {
  double before = problem.peaks.empty() ? problem.stages.front().begin : problem.peaks.front().begin;
  std::optional<std::size_t> gone_before;
  const auto flow = [&](const std::string& at, double begin) {
    const std::size_t gone = model.add_variable("gone" + at, false);
    const std::size_t wait = model.add_variable("wait_out" + at, false, 1);
    Terms rate = {{wait, problem.paging->out}, {gone, -1.0}};
    if (gone_before) rate.emplace_back(*gone_before, 1.0);
    model.add_row(std::move(rate), -problem.paging->out * (begin - before));
    gone_before = gone;
    before = begin;
    return gone;
  };
  for (std::size_t p = 0; p < problem.peaks.size(); ++p) {
    const CheckmateProblem::Peak& peak = problem.peaks[p];
    const std::size_t gone = flow("_" + std::to_string(p), peak.begin);
    Terms used = {{gone, -1.0}}, memory = {{gone, 1.0}};
    for (std::size_t i = 0; i < v.nodes; ++i) {
      if (peak.bytes[i] == 0) continue;
      used.emplace_back(copied[i], peak.bytes[i]);
      memory.emplace_back(v.kept(0, i), -peak.bytes[i]);
      memory.emplace_back(copied[i], -peak.bytes[i]);
    }
    model.add_row(std::move(used), 0);
    model.add_row(std::move(memory), peak.held - problem.budget);
  }
  Terms all = {{flow("_all", problem.stages.front().begin), 1.0}};
  for (std::size_t i = 0; i < v.nodes; ++i) all.emplace_back(copied[i], -problem.stages.front().bytes[i]);
  model.add_row(std::move(all), 0);
}

// What comes back in a stage is there when it begins: the link has brought it in the stages before, as memory had room,
// and while the stage waited.
void add_copies_in(const CheckmateProblem& problem, const Variables& v, MipModel& model) {
  std::optional<std::size_t> brought_before;
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    const std::string at = "_" + std::to_string(t);
    const std::size_t brought = model.add_variable("brought" + at, false);
    const std::size_t wait = model.add_variable("wait_in" + at, false, 1);
    Terms rate = {{wait, problem.paging->in}, {brought, -1.0}}, enough = {{brought, 1.0}};
    double time = 0;
    if (brought_before) {
      rate.emplace_back(*brought_before, 1.0);
      time = problem.stages[t].begin - problem.stages[t - 1].begin;
      for (std::size_t i = 0; i < v.nodes; ++i)
        rate.emplace_back(v.made(t - 1, i), problem.paging->in * problem.nodes[i].time);
      Terms room = {{brought, -1.0}, {wait, problem.paging->in}};  // ahead, besides what stage t - 1 has
      for (std::size_t i = 0; i < v.nodes; ++i) {
        v.add_there(t - 1, i, -problem.stages[t - 1].bytes[i], room);
        for (std::size_t s = 0; s < t; ++s) room.emplace_back(v.paged(s, i), problem.stages[s].bytes[i]);
      }
      model.add_row(summed(std::move(room)), problem.stages[t - 1].held - problem.budget);
    }
    for (std::size_t i = 0; i < v.nodes; ++i)
      for (std::size_t s = 0; s <= t; ++s) enough.emplace_back(v.paged(s, i), -problem.stages[s].bytes[i]);
    model.add_row(std::move(rate), -problem.paging->in * time);
    model.add_row(std::move(enough), 0);
    brought_before = brought;
  }
}

// ms of waiting for copies out: as add_copies_out has it, each copy as early as it can be.
double wait_out(const CheckmateProblem& problem, const CheckmateSchedule& schedule) {
  double gone = 0, wait = 0;
  double before = problem.peaks.empty() ? problem.stages.front().begin : problem.peaks.front().begin;
  const auto flow = [&](double begin, double used, double needed) {
    gone = std::min(used, gone + problem.paging->out * (begin - before));
    wait += std::max(0.0, needed - gone) / problem.paging->out;
    gone = std::max(gone, needed);
    before = begin;
  };
  const std::vector<bool> copied = schedule.pages();
  double all = 0;
  for (const CheckmateProblem::Peak& peak : problem.peaks) {
    double used = 0, held = peak.held;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      if (copied[i]) used += peak.bytes[i];
      if (schedule.kept[0][i]) held += peak.bytes[i];
    }
    flow(peak.begin, used, held + used - problem.budget);
  }
  for (std::size_t i = 0; i < problem.nodes.size(); ++i)
    if (copied[i]) all += problem.stages.front().bytes[i];
  flow(problem.stages.front().begin, all, all);
  return wait;
}

// ms of waiting for copies in: as add_copies_in has it, each as early as the link and memory let it.
double wait_in(const CheckmateProblem& problem, const CheckmateSchedule& schedule) {
  const std::size_t stages = problem.stages.size();
  std::vector<double> needed(stages), most(stages), made(stages);  // MiB brought by the begin of each stage; ms
  double sum = 0;
  for (std::size_t t = 0; t < stages; ++t) {
    double held = problem.stages[t].held;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      if (schedule.paged[t][i]) sum += problem.stages[t].bytes[i];
      if (schedule.there(t, i)) held += problem.stages[t].bytes[i];
      if (schedule.made[t][i]) made[t] += problem.nodes[i].time;
    }
    needed[t] = sum;
    if (t + 1 < stages) most[t + 1] = sum + problem.budget - held;
  }
  for (std::size_t t = stages; t-- > 1;) most[t] = std::min(most[t], t + 1 < stages ? most[t + 1] : sum);
  double brought = needed[0], wait = needed[0] / problem.paging->in;
  for (std::size_t t = 1; t < stages; ++t) {
    const double time = problem.stages[t].begin - problem.stages[t - 1].begin + made[t - 1];
    brought = std::max(brought, std::min(most[t], brought + problem.paging->in * time));
    wait += std::max(0.0, needed[t] - brought) / problem.paging->in;
    brought = std::max(brought, needed[t]);
  }
  return wait;
}

}  // namespace

bool CheckmateSchedule::comes_back(std::size_t stage, std::size_t node) const {
  for (std::size_t t = stage; t < paged.size(); ++t)
    if (paged[t][node] || made[t][node]) return paged[t][node];
  return false;
}

std::vector<bool> CheckmateSchedule::pages() const {
  std::vector<bool> any(paged.empty() ? 0 : paged.front().size());
  for (const std::vector<bool>& stage : paged)
    for (std::size_t i = 0; i < any.size(); ++i) any[i] = any[i] || stage[i];
  return any;
}

MipModel checkmate_model(const CheckmateProblem& problem, bool relaxed) {
  const Variables v(problem);
  MipModel model;
  for (std::size_t t = 0; t < problem.stages.size(); ++t)
    for (std::size_t i = 0; i < v.nodes; ++i) {
      const std::string at = "_" + std::to_string(t) + "_" + std::to_string(i);
      model.add_variable("kept" + at, !relaxed);
      model.add_variable("made" + at, !relaxed, problem.nodes[i].time);
      if (problem.paging) model.add_variable("paged" + at, !relaxed);
    }
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    const CheckmateProblem::Stage& stage = problem.stages[t];
    Terms memory;
    for (std::size_t i = 0; i < v.nodes; ++i) {
      add_rows(problem, v, t, i, model);
      if (stage.bytes[i] == 0) continue;
      v.add_there(t, i, -stage.bytes[i], memory);
    }
    if (!memory.empty()) model.add_row(std::move(memory), stage.held - problem.budget);
    for (const std::size_t i : stage.needs) {
      Terms there;
      v.add_there(t, i, 1, there);
      model.add_row(std::move(there), 1);
    }
  }
  for (const CheckmateProblem::Peak& peak : problem.peaks) {
    Terms memory;
    for (std::size_t i = 0; i < v.nodes; ++i)
      if (peak.bytes[i] > 0) memory.emplace_back(v.kept(0, i), -peak.bytes[i]);
    if (!memory.empty()) model.add_row(std::move(memory), peak.held - problem.budget);
  }
  if (problem.paging) {
    add_copies_out(problem, v, add_copied(problem, v, model), model);
    add_copies_in(problem, v, model);
  }
  return model;
}

CheckmateSchedule schedule_of(const CheckmateProblem& problem, const std::vector<double>& values) {
  const Variables v(problem);
  CheckmateSchedule schedule;
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    schedule.kept.emplace_back(v.nodes);
    schedule.made.emplace_back(v.nodes);
    schedule.paged.emplace_back(v.nodes);
    for (std::size_t i = 0; i < v.nodes; ++i) {
      schedule.kept[t][i] = values[v.kept(t, i)] > 0.5;
      schedule.made[t][i] = values[v.made(t, i)] > 0.5;
      schedule.paged[t][i] = problem.paging && values[v.paged(t, i)] > 0.5;
    }
  }
  return schedule;
}

std::vector<std::pair<std::size_t, bool>> values_of(const CheckmateProblem& problem,
                                                    const CheckmateSchedule& schedule) {
  const Variables v(problem);
  std::vector<std::pair<std::size_t, bool>> values;
  for (std::size_t t = 0; t < schedule.kept.size(); ++t)
    for (std::size_t i = 0; i < v.nodes; ++i) {
      values.emplace_back(v.kept(t, i), schedule.kept[t][i]);
      values.emplace_back(v.made(t, i), schedule.made[t][i]);
      if (problem.paging) values.emplace_back(v.paged(t, i), schedule.paged[t][i]);
    }
  return values;
}

CheckmateSchedule rounded_schedule(const CheckmateProblem& problem, const std::vector<double>& values,
                                   double threshold) {
  const Variables v(problem);
  std::vector<bool> pages(v.nodes);
  for (std::size_t i = 0; problem.paging && i < v.nodes; ++i) {
    double made = 0, paged = 0;
    for (std::size_t t = 0; t < problem.stages.size(); ++t) {
      made += values[v.made(t, i)];
      paged += values[v.paged(t, i)];
    }
    pages[i] = paged > made;
  }
  return completed(
      problem, [&](std::size_t t, std::size_t i) { return values[v.kept(t, i)] > threshold; },
      [&](std::size_t i) { return pages[i]; });
}

CheckmateSchedule equidistant_schedule(const CheckmateProblem& problem, std::size_t distance, std::size_t paged) {
  std::vector<std::size_t> order(problem.nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto time_per_byte = [&](std::size_t i) {
    return problem.nodes[i].time / std::max(problem.stages.front().bytes[i], 1e-9);
  };
  std::ranges::stable_sort(order, std::greater<>{}, time_per_byte);
  std::vector<bool> pages(order.size());
  for (std::size_t n = 0; n < paged; ++n) pages[order[n]] = true;
  return completed(
      problem, [&](std::size_t, std::size_t i) { return (i + 1) % distance == 0; },
      [&](std::size_t i) { return pages[i]; });
}

CheckmateSchedule repaged_schedule(const CheckmateProblem& problem, const CheckmateSchedule& schedule,
                                   const std::vector<bool>& pages) {
  return completed(
      problem, [&](std::size_t t, std::size_t i) { return schedule.kept[t][i]; },
      [&](std::size_t i) { return pages[i]; });
}

double time_of(const CheckmateProblem& problem, const CheckmateSchedule& schedule) {
  double time = 0;
  for (const std::vector<bool>& made : schedule.made)
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i]) time += problem.nodes[i].time;
  if (problem.paging) time += wait_out(problem, schedule) + wait_in(problem, schedule);
  return time;
}

bool fits(const CheckmateProblem& problem, const CheckmateSchedule& schedule) {
  constexpr double kRounding = 1e-6;  // MiB
  const std::vector<bool> copied = schedule.pages();
  for (std::size_t i = 0; i < copied.size(); ++i)
    if (copied[i] && schedule.kept[0][i]) return false;
  for (std::size_t t = 0; t < problem.stages.size(); ++t) {
    double held = problem.stages[t].held;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i)
      if (schedule.there(t, i)) held += problem.stages[t].bytes[i];
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
