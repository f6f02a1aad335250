// Checkmate's integer program against trying everything, on random graphs of at most eight nodes. Needs cbc.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "plan/planners/checkmate_model.h"
#include "study/mip_solver.h"

namespace uvmsim {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// A chain with some skips: node i is needed for the last time, and freed after, in stage n - 1 - i.
CheckmateProblem random_problem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
  const std::size_t nodes = 3 + below(6);
  CheckmateProblem p;
  double all = 0;
  std::vector<double> bytes;
  for (std::size_t i = 0; i < nodes; ++i) {
    p.nodes.push_back({.time = 1 + static_cast<double>(below(9))});
    if (i > 0) p.nodes[i].reads = {i - 1};
    if (i > 1 && below(3) == 0) p.nodes[i].reads.insert(p.nodes[i].reads.begin(), below(i - 1));
    bytes.push_back(1 + static_cast<double>(below(9)));
    all += bytes.back();
  }
  for (std::size_t s = 0; s < nodes; ++s) {
    CheckmateProblem::Stage stage{.held = static_cast<double>(below(4)), .needs = {nodes - 1 - s}};
    if (nodes - 1 - s > 0 && below(2) == 0) stage.needs.push_back(nodes - 2 - s);
    for (std::size_t i = 0; i < nodes; ++i) stage.bytes.push_back(i + s < nodes ? bytes[i] : 0);
    p.stages.push_back(std::move(stage));
  }
  p.budget = all * (0.4 + 0.1 * static_cast<double>(below(6)));
  return p;
}

bool has(unsigned set, std::size_t i) { return (set >> i & 1U) != 0; }

// Whether the stage can begin with `kept` and make `made`.
bool possible(const CheckmateProblem& p, std::size_t stage, unsigned kept, unsigned made) {
  double held = p.stages[stage].held;
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    if (has(kept | made, i)) held += p.stages[stage].bytes[i];
    if (has(made, i))
      for (const std::size_t read : p.nodes[i].reads)
        if (!has(kept | made, read)) return false;
  }
  return held <= p.budget &&
         std::ranges::all_of(p.stages[stage].needs, [&](std::size_t i) { return has(kept | made, i); });
}

// The least time, over all that stages can begin with and make.
double by_trying_everything(const CheckmateProblem& p) {
  const unsigned sets = 1U << p.nodes.size();
  std::vector<double> least(sets, kNone);  // time so far, by what is there
  least[sets - 1] = 0;
  for (std::size_t stage = 0; stage < p.stages.size(); ++stage) {
    std::vector<double> next(sets, kNone);
    for (unsigned kept = 0; kept < sets; ++kept) {
      double before = kNone;
      for (unsigned there = 0; there < sets; ++there)
        if ((kept & there) == kept) before = std::min(before, least[there]);
      for (unsigned made = 0; made < sets && before < kNone; ++made) {
        if ((kept & made) != 0 || !possible(p, stage, kept, made)) continue;
        double time = before;
        for (std::size_t i = 0; i < p.nodes.size(); ++i) time += has(made, i) ? p.nodes[i].time : 0;
        next[kept | made] = std::min(next[kept | made], time);
      }
    }
    least = next;
  }
  return std::ranges::min(least);
}

TEST(CheckmateProperty, TheProgramEqualsTryingEverything) {
  int solved = 0, infeasible = 0, recomputed = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const CheckmateProblem problem = random_problem(seed);
    const double least = by_trying_everything(problem);
    const auto solution = solve_with_cbc(checkmate_model(problem, false), {.seconds = 60, .gap = 0}, {});
    ASSERT_TRUE(solution) << "there is no cbc: packaging/apt.txt";
    if (least == kNone) {
      EXPECT_EQ(solution->status, MipSolution::Status::Infeasible) << "seed " << seed;
      ++infeasible;
      continue;
    }
    ASSERT_EQ(solution->status, MipSolution::Status::Optimal) << "seed " << seed;
    const CheckmateSchedule schedule = schedule_of(problem, solution->values);
    EXPECT_TRUE(fits(problem, schedule)) << "seed " << seed;
    EXPECT_NEAR(time_of(problem, schedule), least, 1e-6) << "seed " << seed;
    ++solved;
    recomputed += least > 0;
  }
  EXPECT_GE(solved, 10);
  EXPECT_GE(infeasible, 1);
  EXPECT_GE(recomputed, 8);
}

}  // namespace
}  // namespace uvmsim
