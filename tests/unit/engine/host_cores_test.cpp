// Work of several GPUs on the cores of one host. One scheduler per process: ctest runs every test alone.
#include "engine/host_cores.h"

#include <gtest/gtest.h>
#include <vector>

#include "engine/clock.h"

namespace uvmsim {
namespace {

struct Work {
  std::int64_t begin = 0, duration = 0;
  int threads = 1;
};

// When each ends.
std::vector<std::int64_t> ends_on(int cores, const std::vector<Work>& works) {
  HostCores host(cores);
  std::vector<std::int64_t> ends(works.size());
  for (std::size_t n = 0; n < works.size(); ++n)
    scheduler().spawn("work " + std::to_string(n), [&, n] {
      sleep_until(Time{works[n].begin});
      host.run(works[n].threads, Duration{works[n].duration});
      ends[n] = now().count();
    });
  EXPECT_TRUE(scheduler().run([](Time next) { return next; }));
  return ends;
}

using Ends = std::vector<std::int64_t>;

TEST(HostCores, WithoutALimitNobodyIsSlower) {
  EXPECT_EQ(ends_on(0, {{0, 12, 1000}, {2, 12, 1}, {4, 12, 1}}), (Ends{12, 14, 16}));
}

TEST(HostCores, AsManyCoresAsThreadsAreEnough) { EXPECT_EQ(ends_on(3, {{0, 12, 2}, {2, 12, 1}}), (Ends{12, 14})); }

// Alone until 4, the first has 12 - 4 = 8 left; both go at half speed until it ends at 4 + 2 * 8 = 20. The second has
// then done (20 - 4) / 2 = 8 of its 12, and does the other 4 alone.
TEST(HostCores, TwoThreadsOnOneCoreGoAtHalfSpeed) { EXPECT_EQ(ends_on(1, {{0, 12}, {4, 12}}), (Ends{20, 24})); }

// Five threads on two cores go at 2/5: the optimizer's four end at 6 * 5/2 = 15. The codec has done 15 * 2/5 = 6 of its
// 9 by then, and does the other 3 with a core for itself.
TEST(HostCores, EveryThreadHasTheSameShare) { EXPECT_EQ(ends_on(2, {{0, 6, 4}, {0, 9, 1}}), (Ends{15, 18})); }

}  // namespace
}  // namespace uvmsim
