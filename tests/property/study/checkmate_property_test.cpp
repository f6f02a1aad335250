// Checkmate's integer program, and with paging POET's, against trying everything, on random graphs of at most eight
// nodes. Needs cbc.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
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

// --- with paging

// Three nodes in three stages with a link of 1 MiB per ms or slower; each kernel of the forward pass takes 2 ms, each
// stage 3 ms.
CheckmateProblem random_paging_problem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t most) { return static_cast<double>(random() % most); };
  CheckmateProblem p{.paging = CheckmateProblem::Paging{.out = 0.25 + below(4) / 4, .in = 0.25 + below(4) / 4}};
  std::vector<double> bytes;
  for (std::size_t i = 0; i < 3; ++i) {
    p.nodes.push_back({.time = 1 + below(9)});
    if (i > 0) p.nodes[i].reads = {i - 1};
    bytes.push_back(1 + below(5));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    CheckmateProblem::Peak peak{.begin = 2.0 * static_cast<double>(i), .held = bytes[i]};
    for (std::size_t j = 0; j < 3; ++j) peak.bytes.push_back(j < i ? bytes[j] : 0);
    p.peaks.push_back(std::move(peak));
  }
  for (std::size_t s = 0; s < 3; ++s) {
    CheckmateProblem::Stage stage{.begin = 6 + 3.0 * static_cast<double>(s), .held = 1, .needs = {2 - s}};
    for (std::size_t i = 0; i < 3; ++i) stage.bytes.push_back(i + s < 3 ? bytes[i] : 0);
    p.stages.push_back(std::move(stage));
  }
  p.budget = 1 + std::ranges::max(bytes) + below(6);
  return p;
}

// Node i in stage s is away, kept, made or paged: digit 3 s + i of `code` to the base of four.
std::optional<CheckmateSchedule> decoded(const CheckmateProblem& p, unsigned code) {
  CheckmateSchedule schedule;
  for (std::size_t s = 0; s < 3; ++s) {
    for (auto* is : {&schedule.kept, &schedule.made, &schedule.paged}) is->emplace_back(3);
    for (std::size_t i = 0; i < 3; ++i) {
      const unsigned digit = code >> 2 * (3 * s + i) & 3U;
      schedule.kept[s][i] = digit == 1;
      schedule.made[s][i] = digit == 2;
      schedule.paged[s][i] = digit == 3;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (schedule.kept[s][i] && s > 0 && !schedule.there(s - 1, i)) return std::nullopt;
      if (schedule.made[s][i] && i > 0 && !schedule.there(s, i - 1)) return std::nullopt;
    }
    if (!schedule.there(s, 2 - s)) return std::nullopt;
  }
  return fits(p, schedule) ? std::optional(schedule) : std::nullopt;
}

TEST(PoetProperty, TheProgramEqualsTryingEverything) {
  int solved = 0, paged = 0, waited = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const CheckmateProblem problem = random_paging_problem(seed);
    double least = kNone;
    for (unsigned code = 0; code < 1U << 18; ++code)
      if (const auto schedule = decoded(problem, code)) least = std::min(least, time_of(problem, *schedule));
    const auto solution = solve_with_cbc(checkmate_model(problem, false), {.seconds = 60, .gap = 0}, {});
    ASSERT_TRUE(solution) << "there is no cbc: packaging/apt.txt";
    if (least == kNone) {
      EXPECT_EQ(solution->status, MipSolution::Status::Infeasible) << "seed " << seed;
      continue;
    }
    ASSERT_EQ(solution->status, MipSolution::Status::Optimal) << "seed " << seed;
    EXPECT_NEAR(solution->objective, least, 1e-5) << "seed " << seed;
    const CheckmateSchedule schedule = schedule_of(problem, solution->values);
    EXPECT_TRUE(fits(problem, schedule)) << "seed " << seed;
    EXPECT_NEAR(time_of(problem, schedule), least, 1e-5) << "seed " << seed;
    CheckmateProblem recomputation = problem;
    recomputation.paging.reset();
    ++solved;
    paged += std::ranges::count(schedule.pages(), true) > 0;
    waited += time_of(problem, schedule) > time_of(recomputation, schedule);
  }
  EXPECT_GE(solved, 12);
  EXPECT_GE(paged, 4);
  EXPECT_GE(waited, 1);
}

}  // namespace
}  // namespace uvmsim
