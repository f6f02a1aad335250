// What every coordinator keeps: something can always go on, and GPUs that compete with none are held up by none.
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "plan/coordinator.h"

namespace uvmsim {
namespace {

class CoordinatorContract : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Coordinator> make(std::vector<SharedLink> links) const {
    return coordinators().find(GetParam())->make()->make(std::move(links));
  }
};

const std::vector<SharedLink> kTwoLinks = {{"uplink0", {GpuIndex{0}, GpuIndex{1}, GpuIndex{2}}},
                                           {"uplink1", {GpuIndex{3}, GpuIndex{4}}}};

std::vector<SwapCopy> random_copies(std::mt19937_64& random, std::int64_t count) {
  std::vector<SwapCopy> copies;
  for (std::int64_t n = 0; n < count; ++n)
    copies.push_back({.number = n,
                      .gpu = GpuIndex{static_cast<int>(random() % 5)},
                      .out = random() % 2 == 0,
                      .bytes = Bytes{static_cast<std::int64_t>(random() % 100'000'000) + 1},
                      .awaited = random() % 3 == 0,
                      .until_use = static_cast<std::int64_t>(random() % 50)});
  return copies;
}

// A copy waits for those under way or for a time that comes.
TEST_P(CoordinatorContract, SomeCopyStartsSoonWhenNoneIsUnderWay) {
  std::mt19937_64 random(1);
  const auto c = make(kTwoLinks);
  for (int round = 0; round < 200; ++round) {
    const std::vector<SwapCopy> waiting = random_copies(random, 1 + round % 8);
    const Time now = microseconds(static_cast<double>(random() % 1'000'000));
    Time earliest = kNever;
    for (const SwapCopy& w : waiting) earliest = std::min(earliest, c->admit(w, waiting, {}, now));
    EXPECT_LT(earliest, now + microseconds(1e6));
  }
}

TEST_P(CoordinatorContract, AskedAtTheTimeItNamedItLetsACopyStart) {
  std::mt19937_64 random(2);
  const auto c = make(kTwoLinks);
  for (int round = 0; round < 200; ++round) {
    const std::vector<SwapCopy> one = random_copies(random, 1);
    const Time now = microseconds(static_cast<double>(random() % 1'000'000));
    const Time at = c->admit(one[0], one, {}, now);
    EXPECT_LE(c->admit(one[0], one, {}, std::max(at, now)), std::max(at, now));
  }
}

// GPUs go through their iterations in random order; whoever may begin does, and is done some time later.
TEST_P(CoordinatorContract, EveryForwardPassGetsItsTurn) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto c = make(kTwoLinks);
    IndexedVector<GpuIndex, std::int64_t> iteration(5);
    for (int step = 0; step < 5 * 6; ++step) {
      std::vector<GpuIndex> able;
      for (const GpuIndex g : iteration.indices())
        if (iteration[g] < 6 && c->may_begin(g, iteration[g])) able.push_back(g);
      ASSERT_FALSE(able.empty()) << "seed " << seed << " step " << step;
      const GpuIndex gpu = able[random() % able.size()];
      std::int64_t& i = iteration[gpu];
      if (random() % 4 == 0) c->reached(gpu, i, Moment::MeetsPeers);
      c->reached(gpu, i, Moment::ForwardDone);
      c->reached(gpu, i, Moment::CopiesOutDone);
      if (++i == 6) c->reached(gpu, i - 1, Moment::Finished);
    }
  }
}

TEST_P(CoordinatorContract, AGpuThatCompetesWithNoneIsNotHeldUp) {
  std::mt19937_64 random(3);
  const auto c = make(kTwoLinks);
  const std::vector<SwapCopy> under_way = random_copies(random, 6);
  std::vector<SwapCopy> waiting = random_copies(random, 6);
  waiting.push_back({.number = 6, .gpu = GpuIndex{7}, .out = true, .bytes = Bytes{1}});
  EXPECT_EQ(c->admit(waiting.back(), waiting, under_way, Time{3}), Time{3});
  EXPECT_TRUE(c->may_begin(GpuIndex{7}, 100));
}

INSTANTIATE_TEST_SUITE_P(All, CoordinatorContract, testing::ValuesIn(coordinators().names()),
                         [](const auto& coordinator) { return coordinator.param; });

}  // namespace
}  // namespace uvmsim
