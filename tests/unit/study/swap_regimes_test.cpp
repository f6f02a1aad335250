// What coordination of GPUs that swap over one link gains and costs, in the toy model: regressions, no evidence.
#include <gtest/gtest.h>
#include <numeric>

#include "support/swap_chain.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// Of the second half of 16 iterations, as a multiple of compute alone.
double slowdown(const Result& r) {
  EXPECT_EQ(r.outcome, Outcome::Completed) << r.detail;
  double longest = 0;
  for (const GpuResult& gpu : r.gpus) {
    EXPECT_EQ(gpu.iteration_s.size(), 16U);
    longest = std::max(longest, std::accumulate(gpu.iteration_s.end() - 8, gpu.iteration_s.end(), 0.0) / 8);
  }
  return longest * 1e3 / kIdealMs;
}

struct Point {
  double share, rate;  // of the peak; GB/s
  int every;
};

double without_coordination(const Point& p, bool disjoint) {
  const double budget = p.share * kPeakMegabytes;
  const std::vector<Plan> plans = {chain_plan(0, budget, dealt(0, disjoint ? 2 : 1)),
                                   chain_plan(1, budget, dealt(disjoint ? 1 : 0, disjoint ? 2 : 1))};
  return slowdown(run_chain(one_switch(2, budget, p.rate), plans, nullptr, p.every));
}

double bidirectional(const Point& p) {
  const double budget = p.share * kPeakMegabytes;
  const std::vector<Plan> plans = {chain_plan(0, budget, dealt(0, 1)), chain_plan(1, budget, dealt(0, 1))};
  const auto kind = coordinators().find("bidirectional_overlapping")->make();
  return slowdown(run_chain(one_switch(2, budget, p.rate), plans, kind.get(), p.every));
}

// Copies hide behind kernels, so the second GPU's offset, its wait for the first one's forward pass, is all there is to
// pay, once in `every` iterations: 1 + T_fwd / (n T_iter), with T_fwd a third of the iteration.
TEST(BidirectionalOverlapping, CostsTheOffsetOnceInEverySynchronisation) {
  for (const int n : {1, 2, 4, 8}) {
    const double floor = 1 + kForwardSum / (n * kIdealMs);
    EXPECT_NEAR(bidirectional({.share = 0.7, .rate = 12, .every = n}), floor, 1e-6) << "n = " << n;
  }
}

// GPUs that never synchronise pay it never.
TEST(BidirectionalOverlapping, CostsNothingWithoutSynchronisation) {
  EXPECT_NEAR(bidirectional({.share = 0.7, .rate = 12, .every = 0}), 1, 1e-6);
}

// Iteration times over compute, next to those of another implementation (share, n): none, greedy disjoint sets,
// bidirectional. It gates copies in by memory one by one, this one by what is issued: 2 % apart at most, but for
// disjoint sets, whose order of copies differs.
struct Row {
  double share;
  int every;
  double none, disjoint, bidirectional;
};
class Regimes : public testing::TestWithParam<Row> {};
TEST_P(Regimes, AreThoseOfTheToyModel) {
  const Row& row = GetParam();
  const Point p{.share = row.share, .rate = 12, .every = row.every};
  EXPECT_NEAR(without_coordination(p, false), row.none, 0.02 * row.none);
  EXPECT_NEAR(without_coordination(p, true), row.disjoint, 0.05 * row.disjoint);
  EXPECT_NEAR(bidirectional(p), row.bidirectional, 0.02 * row.bidirectional);
}
INSTANTIATE_TEST_SUITE_P(Toy, Regimes,
                         testing::Values(Row{0.7, 1, 1.211, 1.325, 1.333}, Row{0.7, 4, 1.211, 1.225, 1.083},
                                         Row{0.6, 1, 1.485, 1.611, 1.429}, Row{0.6, 4, 1.485, 1.422, 1.143},
                                         Row{0.5, 1, 1.816, 1.817, 1.595}, Row{0.5, 2, 1.816, 1.798, 1.363},
                                         Row{0.5, 4, 1.816, 1.717, 1.247}, Row{0.5, 8, 1.816, 1.509, 1.189}));

// Taking turns pays exactly where contention costs more than the offset of a third of an iteration over n.
TEST(BidirectionalOverlapping, PaysWhereContentionCostsMoreThanTheOffset) {
  for (const double rate : {24.0, 16.0, 12.0})
    for (const int n : {1, 4}) {
      const Point p{.share = 0.7, .rate = rate, .every = n};
      const double none = without_coordination(p, false), turns = bidirectional(p);
      EXPECT_EQ(turns<none, none - 1> kForwardSum / (n * kIdealMs)) << rate << " GB/s, n = " << n;
    }
}

}  // namespace
}  // namespace uvmsim
