// In which order the requests of CTAs become entries of the fault buffer. That all of it equals the plain walk is
// tests/property/gpu.
#include "gpu/fault_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace uvmsim {
namespace {

using testing::ElementsAre;

// One SM, one group: two CTAs of a warp each, thread t of both reads page t, and no page is there.
std::vector<std::int64_t> first_pages(int requests_per_warp, std::size_t entries) {
  GpuSpec gpu;
  gpu.sms = 1;
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = 32;
  gpu.fault = {.utlb_groups = 1,
               .slots_per_group = 56,
               .entry_interval = nanoseconds(14),
               .entry_latency = {},
               .touch_latency = {},
               .replay_skew = {},
               .cta_start = {},
               .warp_stagger = {},
               .requests_per_warp = requests_per_warp,
               .fault_buffer_entries = 4096};
  const std::vector<trace::PatternOptions> options = {{.width = 4, .stride = kPageBytes, .count = 64}};
  const std::vector<Operand> operands = {
      {kManagedBase, 64 * kPageBytes, trace::Mode::Read, trace::Pattern::Strided, 1, 0}};
  const auto program = make_kernel_program({2, 32}, operands, options);
  FaultUnit unit(gpu);
  PageTable pages;
  unit.launch(*program, pages, nanoseconds(10'000), Time{});
  unit.advance(Time{} + nanoseconds(10'000));
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < std::min(entries, unit.buffer().size()); ++i)
    found.push_back(unit.buffer()[i].page - page_of(kManagedBase));
  return found;
}

// Page 0 is admitted before the second CTA starts, so the first warp's page 4 is in front of its pages 32 to 35. From
// then on each warp has four requests in the queue, and four of each come in turn.
TEST(FaultUnit, AWarpAsksForItsPagesAFewAtATime) {
  EXPECT_THAT(first_pages(4, 13), ElementsAre(0, 1, 2, 3, 4, 32, 33, 34, 35, 5, 6, 7, 8));
  EXPECT_THAT(first_pages(1, 8), ElementsAre(0, 1, 32, 2, 33, 3, 34, 4));
}

// All 32 of the first warp at once: the second one gets what is left of the 56 slots, 24.
TEST(FaultUnit, WithoutThatLimitTheFirstWarpComesFirst) {
  const std::vector<std::int64_t> pages = first_pages(32, 64);
  ASSERT_EQ(pages.size(), 56);
  for (std::int64_t i = 0; i < 56; ++i) EXPECT_EQ(pages[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace uvmsim
