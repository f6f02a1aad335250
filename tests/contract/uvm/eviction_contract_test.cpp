// Every registered eviction policy must keep this contract; a new file is enrolled by existing.
#include <algorithm>
#include <gtest/gtest.h>

#include "support/driver_fixture.h"
#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

using namespace test;

class EvictionContract : public testing::TestWithParam<std::string> {
 protected:
  // Streams through 12 blocks with room for 5; the frames on the GPU after each service.
  std::vector<std::vector<bool>> play() const {
    Machine machine = small_machine(10_MiB);
    machine.driver.eviction_policy = GetParam();
    Driver d(machine, 24_MiB);
    std::vector<std::vector<bool>> history;
    for (int round = 0; round < 3; ++round)
      for (FrameIndex frame = 0; frame < 12; ++frame) {
        const BlockWork& work = d.write(page_in(frame, 0));
        EXPECT_FALSE(work.out_of_memory);
        EXPECT_FALSE(d.on_gpu(frame).none()) << "the block being serviced was evicted";
        d.driver.audit();
        std::vector<bool>& now = history.emplace_back();
        for (FrameIndex f = 0; f < 12; ++f) now.push_back(d.on_gpu(f).any());
      }
    return history;
  }
};

TEST_P(EvictionContract, EvictsNoMoreThanIsNeeded) {
  for (const std::vector<bool>& frames : play()) EXPECT_LE(std::ranges::count(frames, true), 5);
  EXPECT_EQ(std::ranges::count(play().back(), true), 5);
}

TEST_P(EvictionContract, TheSameRunEvictsTheSameChunks) { EXPECT_EQ(play(), play()); }

TEST_P(EvictionContract, WorksWithOneEvictableChunk) {
  Machine machine = small_machine(4_MiB);
  machine.driver.eviction_policy = GetParam();
  Driver d(machine, 8_MiB);
  ASSERT_TRUE(d.driver.allocate_device(0, 2_MiB).has_value());
  for (FrameIndex frame = 0; frame < 4; ++frame) EXPECT_TRUE(d.write(page_in(frame, 0)).serviced);
  d.driver.audit();
}

TEST_P(EvictionContract, IsDocumented) {
  const auto* entry = eviction_policies().find(GetParam());
  EXPECT_FALSE(entry->summary.empty());
  EXPECT_FALSE(entry->source.empty());
}

INSTANTIATE_TEST_SUITE_P(All, EvictionContract, testing::ValuesIn(eviction_policies().names()),
                         [](const auto& policy) { return policy.param; });

}  // namespace
}  // namespace uvmsim
