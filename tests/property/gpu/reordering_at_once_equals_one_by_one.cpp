// An SM's requests that are put in order once after many replays are in the order of having it done after each.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <random>

#include "gpu/fault_unit.h"

namespace uvmsim {
namespace {

using Warps = std::deque<int>;  // of the requests that wait, first to last

std::vector<std::size_t> starts_of_runs(const Warps& queue) {
  std::vector<std::size_t> starts{0};
  for (std::size_t i = 1; i < queue.size(); ++i)
    if (queue[i] != queue[i - 1]) starts.push_back(i);
  return starts;
}

Warps beginning_with_run(const Warps& queue, std::size_t run) {
  Warps rotated = queue;
  std::rotate(rotated.begin(), rotated.begin() + static_cast<std::ptrdiff_t>(starts_of_runs(queue)[run]),
              rotated.end());
  return rotated;
}

TEST(ReorderingAtOnce, EqualsReorderingAfterEachReplay) {
  std::mt19937 random(1);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  int joined = 0;
  for (int i = 0; i < 5000; ++i) {
    Warps queue(static_cast<std::size_t>(up_to(20)));
    for (int& warp : queue) warp = up_to(4);
    std::vector<std::uint64_t> replays(static_cast<std::size_t>(up_to(12)));
    for (std::uint64_t& replay : replays) replay = static_cast<std::uint64_t>(up_to(1'000'000));
    const std::uint64_t sm = static_cast<std::uint64_t>(up_to(132));

    Warps one_by_one = queue;
    for (const std::uint64_t replay : replays)
      one_by_one = beginning_with_run(one_by_one, first_warp_to_ask(replay, sm, starts_of_runs(one_by_one).size()));

    const std::size_t runs = starts_of_runs(queue).size();
    const bool ends_alike = runs > 1 && queue.front() == queue.back();
    joined += ends_alike ? 1 : 0;
    EXPECT_EQ(beginning_with_run(queue, first_run_to_ask(replays, sm, runs, ends_alike)), one_by_one);
  }
  EXPECT_GT(joined, 500);  // the case that is easy to get wrong was among them
}

}  // namespace
}  // namespace uvmsim
