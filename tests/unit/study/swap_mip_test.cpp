// The planners' mixed-integer program against trying everything, on small random instances. Needs cbc.
#include "plan/planners/swap_mip.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

#include "study/mip_solver.h"
#include "study/shared_work.h"

namespace uvmsim {
namespace {

const MipLimits kExact{.nodes = 1'000'000, .seconds = 60, .gap = 0};
constexpr double kNone = std::numeric_limits<double>::infinity();

// A chain of `layers` layers, forward and backward; activation l is used by slots l, l + 1 and by its backward slot.
SwapProblem random_chain(int layers, std::uint64_t seed, double share) {
  std::mt19937_64 random(seed);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 1000) / 1000;
  };
  SwapProblem p;
  std::vector<double> size, forward;
  for (int l = 0; l < layers; ++l) forward.push_back(between(3, 12)), size.push_back(between(60, 400));
  for (int k = 0; k < 2 * layers; ++k)
    p.duration.push_back(k < layers ? forward[static_cast<std::size_t>(k)]
                                    : 2 * forward[static_cast<std::size_t>(2 * layers - 1 - k)]);
  p.load.assign(p.duration.size(), 0);
  for (int l = 0; l < layers; ++l)
    for (int k = l; k <= 2 * layers - 1 - l; ++k)
      p.load[static_cast<std::size_t>(k)] += size[static_cast<std::size_t>(l)];
  for (int l = 0; l + 2 < layers; ++l) {
    const double bytes = size[static_cast<std::size_t>(l)];
    p.intervals.push_back(
        {.last_use = l + 1, .next_use = 2 * layers - 2 - l, .size = bytes, .out = bytes / 14, .in = bytes / 12});
  }
  p.budget = share * *std::ranges::max_element(p.load);
  return p;
}

struct Choice {
  bool swapped = false;
  std::int32_t back_after = 0;  // the copy in starts after this slot; the last use: at once
};

// The earliest end when these intervals are swapped, each copy starting as early as it may, first in, first out.
double end_under(const SwapProblem& p, const std::vector<Choice>& choices) {
  const std::size_t slots = p.duration.size(), count = p.intervals.size();
  std::vector<double> start(slots), out_end(count, kNone);
  double out_free = 0, in_free = 0;
  for (std::size_t k = 0; k < slots; ++k) {
    double at = k == 0 ? 0 : start[k - 1] + p.duration[k - 1];
    const auto slot = static_cast<std::int32_t>(k);
    for (std::size_t i = 0; i < count; ++i) {
      const SlotInterval& v = p.intervals[i];
      if (!choices[i].swapped || v.next_use != slot) continue;
      const auto after = static_cast<std::size_t>(choices[i].back_after);
      const double begin = std::max({out_end[i], in_free, start[after] + p.duration[after]});
      in_free = begin + v.in;
      at = std::max(at, in_free);
    }
    double missing = p.load[k] - p.budget;
    std::vector<std::pair<double, double>> gone;  // when, how much
    for (std::size_t i = 0; i < count; ++i) {
      const SlotInterval& v = p.intervals[i];
      if (choices[i].swapped && v.last_use < slot && slot < v.next_use && choices[i].back_after >= slot)
        gone.emplace_back(out_end[i], v.size);
    }
    std::ranges::sort(gone);
    for (const auto& [when, bytes] : gone) {
      if (missing <= 1e-9) break;
      at = std::max(at, when);
      missing -= bytes;
    }
    if (missing > 1e-9) return kNone;
    start[k] = at;
    for (std::size_t i = 0; i < count; ++i) {
      if (!choices[i].swapped || p.intervals[i].last_use != slot) continue;
      out_free = std::max(out_free, at + p.duration[k]) + p.intervals[i].out;
      out_end[i] = out_free;
    }
  }
  return start.back() + p.duration.back();
}

double best_of_all(const SwapProblem& p) {
  std::vector<std::vector<Choice>> options(p.intervals.size());
  for (std::size_t i = 0; i < p.intervals.size(); ++i) {
    options[i] = {{false, 0}, {true, p.intervals[i].last_use}};
    for (std::int32_t k = p.intervals[i].last_use + 1; k < p.intervals[i].next_use; ++k)
      if (p.load[static_cast<std::size_t>(k)] > p.budget) options[i].push_back({true, k});
  }
  std::vector<std::size_t> digit(options.size(), 0);
  double best = kNone;
  for (bool more = true; more;) {
    std::vector<Choice> choices;
    for (std::size_t i = 0; i < options.size(); ++i) choices.push_back(options[i][digit[i]]);
    best = std::min(best, end_under(p, choices));
    more = false;
    for (std::size_t i = 0; i < digit.size() && !more; ++i) {
      more = ++digit[i] < options[i].size();
      if (!more) digit[i] = 0;
    }
  }
  return best;
}

class SwapMip : public testing::Test {
 protected:
  static MipSolution solve(const SwapModel& model) {
    const auto solution = solve_with_cbc(model.model(), kExact, {});
    if (!solution) {
      ADD_FAILURE() << "cbc is not installed";
      return {};
    }
    return *solution;
  }
};

TEST_F(SwapMip, ItsOptimumIsThatOfTryingEverything) {
  int feasible = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const double share : {0.85, 0.7, 0.55}) {
      const SwapProblem p = random_chain(5, seed, share);
      const SwapModel model({&p, 1}, {});
      const double best = best_of_all(p);
      if (best == kNone && !model.may_be_feasible()) continue;
      const MipSolution solution = solve(model);
      if (best == kNone) {
        EXPECT_NE(solution.status, MipSolution::Status::Optimal) << "seed " << seed << " share " << share;
        continue;
      }
      ++feasible;
      ASSERT_EQ(solution.status, MipSolution::Status::Optimal) << "seed " << seed << " share " << share;
      EXPECT_NEAR(solution.objective, best, 1e-4 * best) << "seed " << seed << " share " << share;
      // What the solution chose takes that long.
      std::vector<Choice> choices(p.intervals.size());
      for (const SwapModel::Choice& c : model.choices(0, solution)) choices[c.interval] = {true, c.after_slot};
      EXPECT_NEAR(end_under(p, choices), best, 1e-4 * best) << "seed " << seed << " share " << share;
    }
  EXPECT_GE(feasible, 12);
}

// Two GPUs alike on one link. The joint optimum is no worse than that under a wish for disjointness, and no better than
// one GPU alone.
TEST_F(SwapMip, CoordinationLiesBetweenOneGpuAndDisjointness) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const SwapProblem p = random_chain(5, seed, 0.75);
    const std::vector<SwapProblem> both = {p, p};
    const double alone = solve(SwapModel({&p, 1}, {})).objective;
    const SwapModel joint(both, {.shared_link = true});
    const SwapModel disjoint(both, {.shared_link = true, .disjoint = true, .penalty = 1000});
    const double together = solve(joint).objective, apart = solve(disjoint).objective;
    EXPECT_LE(alone, together + 1e-3);
    EXPECT_LE(together, apart + 1e-3);
  }
}

TEST_F(SwapMip, AStartIsTakenAndChangesNothing) {
  const SwapProblem p = random_chain(5, 3, 0.7);
  const SwapModel model({&p, 1}, {});
  std::vector<std::pair<std::size_t, bool>> all;
  for (std::size_t i = 0; i < p.intervals.size(); ++i) all.emplace_back(model.swapped(0, i), true);
  const auto started = solve_with_cbc(model.model(), kExact, all);
  ASSERT_TRUE(started.has_value());
  EXPECT_NEAR(started->objective, solve(model).objective, 1e-4);
}

// Without cbc on the search path the second answer can only be the first one.
TEST_F(SwapMip, AProgramIsSolvedOnceWhileSolutionsAreShared) {
  const SwapProblem p = random_chain(5, 1, 0.7);
  const SwapModel model({&p, 1}, {});
  const std::string path = std::getenv("PATH");
  std::optional<MipSolution> again;
  double objective = 0;
  {
    const SharedWork shared(1);
    objective = solve(model).objective;
    setenv("PATH", "", 1);
    again = solve_with_cbc(model.model(), kExact, {});
  }
  EXPECT_FALSE(solve_with_cbc(model.model(), kExact, {}));
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->objective, objective);
}

// Without what its queues imply the bound of a program is that of kernels which wait for nothing: their durations added
// up. With it no more than one node brings it to at least half of the way from there to the optimum.
TEST_F(SwapMip, ItsBoundIsNearWithoutASearch) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const SwapProblem p = random_chain(8, seed, 0.55);
    const SwapModel model({&p, 1}, {});
    const double kernels = std::accumulate(p.duration.begin(), p.duration.end(), 0.0), best = solve(model).objective;
    const auto first = solve_with_cbc(model.model(), {.nodes = 1, .seconds = 60, .gap = 0}, {});
    ASSERT_TRUE(first.has_value());
    ASSERT_GT(best, kernels * 1.01) << "seed " << seed;
    EXPECT_LE(first->bound, best + 1e-4) << "seed " << seed;
    EXPECT_GE(first->bound, kernels + (best - kernels) / 2) << "seed " << seed;
  }
}

// Nodes are counted, not seconds: the same solution, as far from the bound, however fast the machine is.
TEST_F(SwapMip, WhatALimitOfNodesStopsIsTheSameAgain) {
  const SwapProblem p = random_chain(8, 1, 0.55);
  const std::vector<SwapProblem> both = {p, p};
  const SwapModel model(both, {.shared_link = true});
  const MipLimits few{.nodes = 3, .seconds = 60, .gap = 0};
  const auto once = solve_with_cbc(model.model(), few, {}), again = solve_with_cbc(model.model(), few, {});
  ASSERT_TRUE(once && again);
  EXPECT_EQ(once->status, MipSolution::Status::Feasible);
  EXPECT_FALSE(once->out_of_time);
  EXPECT_LT(once->bound, once->objective);
  EXPECT_EQ(once->values, again->values);
  EXPECT_EQ(once->bound, again->bound);
}

// A wish for disjointness is one between GPUs: for one alone the three planners solve one program.
TEST_F(SwapMip, OneGpuAloneHasOneProgram) {
  const SwapProblem p = random_chain(5, 1, 0.7);
  const std::string alone = SwapModel({&p, 1}, {}).model().to_lp();
  EXPECT_EQ(SwapModel({&p, 1}, {.shared_link = true, .disjoint = true, .penalty = 1}).model().to_lp(), alone);
  EXPECT_EQ(SwapModel({&p, 1}, {.shared_link = true}).model().to_lp(), alone);
}

TEST(CbcSolution, IsReadByName) {
  MipModel model;
  model.add_variable("x", true);
  model.add_variable("t", false, 1);
  const MipSolution s = read_cbc_solution("Stopped on time - objective value 12.5\n** 1 t 12.5 0\n", model);
  EXPECT_EQ(s.status, MipSolution::Status::Feasible);
  EXPECT_TRUE(s.out_of_time);
  EXPECT_EQ(s.objective, 12.5);
  EXPECT_EQ(s.values, (std::vector<double>{0, 12.5}));
  EXPECT_EQ(read_cbc_solution("Infeasible - objective value 0\n", model).status, MipSolution::Status::Infeasible);
  const MipSolution none = read_cbc_solution("Stopped on time (no integer solution - continuous used)\n", model);
  EXPECT_EQ(none.status, MipSolution::Status::None);
}

// min t under t >= 2 + 3 x, x + y >= 1 with y free of charge: x = 0, t = 2.
TEST(MipModel, IsWrittenInTheLpFormat) {
  MipModel model;
  const std::size_t x = model.add_variable("x", true), y = model.add_variable("y", true),
                    t = model.add_variable("t", false, 1);
  model.add_row({{t, 1}, {x, -3}}, 2);
  model.add_row({{x, 1}, {y, 1}}, 1);
  EXPECT_EQ(model.to_lp(),
            "Minimize\n obj: + 1 t\nSubject To\n r0: + 1 t - 3 x >= 2\n r1: + 1 x + 1 y >= 1\nBinaries\n x\n y\nEnd\n");
}

}  // namespace
}  // namespace uvmsim
