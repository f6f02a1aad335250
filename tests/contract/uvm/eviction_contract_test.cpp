// Every registered eviction policy must keep this contract; a new file is enrolled by existing.
#include <algorithm>
#include <gtest/gtest.h>

#include "support/watched_program.h"
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
      for (std::uint32_t frame = 0; frame < 12; ++frame) {
        const BlockWork& work = d.write(page_in(frame, 0));
        EXPECT_FALSE(work.out_of_memory);
        EXPECT_FALSE(d.on_gpu(frame).none()) << "the block being serviced was evicted";
        d.driver.audit();
        std::vector<bool>& now = history.emplace_back();
        for (std::uint32_t f = 0; f < 12; ++f) now.push_back(d.on_gpu(f).any());
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
  ASSERT_TRUE(d.driver.allocate_device(GpuIndex{0}, 2_MiB).has_value());
  for (std::uint32_t frame = 0; frame < 4; ++frame) EXPECT_TRUE(d.write(page_in(frame, 0)).serviced);
  d.driver.audit();
}

// 40 kernels over 10 frames with room for 4, of which 2 hold weights: told of all that happens, the policy chooses the
// same again, and each page ever touched is in one place.
TEST_P(EvictionContract, AWatchedProgramRunsTheSameAndLosesNothing) {
  for (const Bytes granularity : {2_MiB, 64_KiB}) {
    const auto run = [&] {
      Machine machine = small_machine(8_MiB);
      machine.driver.eviction_policy = GetParam();
      machine.driver.eviction_granularity = granularity;
      machine.driver.prefetch_policy = "whole_block";
      Driver d(machine, 20_MiB);
      std::vector<Frames> kernels;
      for (std::uint32_t i = 0; i < 40; ++i) kernels.push_back({i % 2, 2 + i * i % 8});
      Program p = program_of(kernels);
      p.kinds = {"param", "act"};
      for (std::uint32_t frame = 0; frame < 10; ++frame)
        p.tensor_events.push_back(
            {frame, static_cast<std::int16_t>(frame < 2 ? 0 : 1), block_address(frame), kBlockBytes});
      const Frames faulted = run_kernels(d, p);
      for (const std::uint32_t frame : faulted) {
        EXPECT_TRUE((d.on_gpu(frame) & d.on_cpu(frame)).none()) << "frame " << frame << " is in two places";
        EXPECT_TRUE((d.on_gpu(frame) | d.on_cpu(frame)).full()) << "frame " << frame << " lost pages";
      }
      return faulted;
    };
    EXPECT_EQ(run(), run());
  }
}

// Frame 1 is on its way in, in the background, while others need room; and what the policy evicts in the background
// goes once.
TEST_P(EvictionContract, SparesWhatIsInFlight) {
  Machine machine = small_machine(8_MiB);
  machine.driver.eviction_policy = GetParam();
  machine.driver.prefetch_policy = "next_chunk";
  Driver d(machine, 40_MiB);
  d.write(page_in(0, 0));
  AheadWork* in = d.driver.prefetch_ahead(GpuIndex{0});
  ASSERT_NE(in, nullptr);
  ASSERT_EQ(in->frame, FrameIndex{1});
  AheadWork* out = nullptr;
  for (std::uint32_t frame = 4; frame < 20; ++frame) {
    EXPECT_TRUE(d.write(page_in(frame, 0)).serviced);
    EXPECT_TRUE(d.on_gpu(1).full()) << "a frame in flight was evicted";
    if (out != nullptr) d.driver.finish_ahead(GpuIndex{0}, *out);
    out = d.driver.evict_ahead(GpuIndex{0});
    EXPECT_TRUE(out == nullptr || out->frame != FrameIndex{1});
    d.driver.audit();
  }
  d.driver.finish_ahead(GpuIndex{0}, *in);
  if (out != nullptr) d.driver.finish_ahead(GpuIndex{0}, *out);
  d.driver.audit();
}

TEST_P(EvictionContract, IsDocumented) {
  const auto* entry = eviction_policies().find(GetParam());
  EXPECT_FALSE(entry->on_hardware.empty());
  EXPECT_FALSE(entry->summary.empty());
  EXPECT_FALSE(entry->source.empty());
}

INSTANTIATE_TEST_SUITE_P(All, EvictionContract, testing::ValuesIn(eviction_policies().names()),
                         [](const auto& policy) { return policy.param; });

}  // namespace
}  // namespace uvmsim
