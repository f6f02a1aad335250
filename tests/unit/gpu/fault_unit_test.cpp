// In which order the requests of CTAs become entries of the fault buffer. That all of it equals the plain walk is
// tests/property/gpu.
#include "gpu/fault_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <set>

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Two SMs of one group.
GpuSpec two_sms() {
  GpuSpec gpu;
  gpu.sms = 2;
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = 32;
  gpu.fault = {.utlb_groups = 1,
               .slots_per_group = 56,
               .sms_per_utlb = 1,
               .entry_interval = nanoseconds(14),
               .group_interval = {},
               .entry_latency = {},
               .touch_latency = {},
               .replay_skew = {},
               .cta_start = {},
               .warp_stagger = {},
               .fault_buffer_entries = 4096};
  return gpu;
}

// Each SM has a CTA of `warps` warps, and each thread reads a page of its own, or writes one that is mapped read-only:
// those of the first SM come first.
class TwoSms : public testing::Test {
 protected:
  explicit TwoSms(int warps = 1, trace::Mode mode = trace::Mode::Read) : threads_(32 * warps), mode_(mode) {
    if (mode == trace::Mode::Write) pages_.map(frame_of(page_of(kManagedBase)), PageMask::all(), false, false);
    unit_.launch(*program_, pages_, nanoseconds(10'000), Time{});
    unit_.advance(Time{} + nanoseconds(10'000));
  }
  // The driver reads what is there, grants nothing and replays.
  void replay() {
    unit_.take(unit_.buffer().size(), unit_.now());
    unit_.replay(unit_.now());
    unit_.advance(unit_.now() + nanoseconds(10'000));
  }
  // The pages of the fault buffer from `first` on, at most `count`.
  std::vector<std::int64_t> pages(std::size_t first, std::size_t count) const {
    std::vector<std::int64_t> found;
    for (std::size_t i = first; i < std::min(first + count, unit_.buffer().size()); ++i)
      found.push_back(unit_.buffer()[i].page - page_of(kManagedBase));
    return found;
  }

  // Of which SM an entry is, and how many of it are in a row at most.
  std::int64_t sm_of(std::int64_t page) const { return page / threads_; }
  std::int64_t longest_turn() const {
    const std::vector<std::int64_t> asked = pages(0, unit_.buffer().size());
    std::int64_t in_turn = 1, longest = 1;
    for (std::size_t n = 1; n < asked.size(); ++n) {
      in_turn = sm_of(asked[n]) == sm_of(asked[n - 1]) ? in_turn + 1 : 1;
      longest = std::max(longest, in_turn);
    }
    return longest;
  }

  const int threads_;
  const trace::Mode mode_;
  const std::vector<trace::PatternOptions> options_ = {{.width = 4, .stride = kPageBytes, .count = 2 * threads_}};
  const std::vector<Operand> operands_ = {
      {kManagedBase, kPageBytes * 2 * threads_, mode_, trace::Pattern::Strided, 1, 0}};
  const std::unique_ptr<KernelProgram> program_ = make_kernel_program({2, threads_}, operands_, options_);
  FaultUnit unit_{two_sms()};
  PageTable pages_;
};

// The second CTA starts when page 0 has been taken and page 1 asked for: from there on the SMs take turns.
TEST_F(TwoSms, AskInTurn) { EXPECT_THAT(pages(0, 7), ElementsAre(0, 1, 32, 2, 33, 3, 34)); }

// 56 slots: 28 of each, and one more of the first, whose page 0 came alone.
TEST_F(TwoSms, ShareTheSlotsOfTheirGroup) {
  EXPECT_EQ(unit_.buffer().size(), 56);
  EXPECT_THAT(pages(54, 2), testing::UnorderedElementsAre(28, 58));
}

// Nothing came: what waits is asked for first, then what was asked for before, in its order.
TEST_F(TwoSms, AskAgainBehindWhatWaits) {
  replay();
  // 29 to 31 of the first warp and 59 to 63 of the second one wait, then both start over.
  const std::vector<std::int64_t> again = pages(0, 56);
  ASSERT_EQ(again.size(), 56);
  EXPECT_THAT(std::vector(again.begin(), again.begin() + 8), testing::IsSupersetOf({29, 30, 31, 59, 60, 61, 62}));
  EXPECT_THAT(again, testing::Contains(0));
}

class TwoSmsThatWrite : public TwoSms {
 protected:
  TwoSmsThatWrite() : TwoSms(1, trace::Mode::Write) {}
};

// Before a replay page by page, as reads do; what it refuses, eight pages of an SM in a turn, which may have the next
// one, too.
TEST_F(TwoSmsThatWrite, ToReadOnlyPagesHaveTurnsAfterAReplay) {
  EXPECT_EQ(longest_turn(), 2);
  replay();
  EXPECT_GE(longest_turn(), 8);
}

class TwoSmsOfEightWarps : public TwoSms {
 protected:
  TwoSmsOfEightWarps() : TwoSms(8) {}
};

// As above: thread 0 of each CTA, then page by page.
TEST_F(TwoSmsOfEightWarps, AskInTurn) { EXPECT_THAT(pages(0, 5), ElementsAre(0, 1, 256, 2, 257)); }

// A turn is of one warp, and of eight pages unless fewer of it wait; which SM begins, and with which warp, is another
// one after each replay.
TEST_F(TwoSmsOfEightWarps, AskByEightPagesOfAWarpAfterAReplay) {
  std::set<std::int64_t> began, sms;
  for (int i = 0; i < 8; ++i) {
    replay();
    const std::vector<std::int64_t> asked = pages(0, 56);
    for (std::size_t n = 1; n < asked.size(); ++n) {
      if (sm_of(asked[n]) == sm_of(asked[n - 1])) {
        EXPECT_EQ(asked[n] / 32, asked[n - 1] / 32);
      }
    }
    EXPECT_EQ(longest_turn(), 8);
    began.insert(asked[0] / 32);
    sms.insert(sm_of(asked[0]));
  }
  EXPECT_GT(began.size(), 2);
  EXPECT_EQ(sms.size(), 2);
}

// uTLBs, in order, that have an entry of the page that four SMs of one group read, a CTA of one warp each.
std::vector<int> utlbs_that_ask(int sms_per_utlb) {
  GpuSpec gpu = two_sms();
  gpu.sms = 4;
  gpu.fault.sms_per_utlb = sms_per_utlb;
  const std::vector<Operand> page = {{kManagedBase, kPageBytes, trace::Mode::Read, trace::Pattern::Broadcast, 1, -1}};
  const auto program = make_kernel_program({4, 32}, page, {});
  const PageTable pages;
  FaultUnit unit(gpu);
  unit.launch(*program, pages, nanoseconds(6'000), Time{});
  unit.advance(Time{} + nanoseconds(6'000));
  std::vector<int> found;
  for (std::size_t i = 0; i < unit.buffer().size(); ++i) found.push_back(unit.buffer()[i].utlb);
  return found;
}

TEST(OnePage, IsAnEntryOfEachUtlb) {
  EXPECT_THAT(utlbs_that_ask(1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(utlbs_that_ask(2), ElementsAre(0, 1));
  EXPECT_THAT(utlbs_that_ask(1024), ElementsAre(0));
}

// Rodinia's bfs on a graph of 4,096 nodes, AC922: 8 CTAs of 16 warps read 4 KiB, and nvprof counts 128 faults of that
// page (AndrewXu22/optimal_unified_memory @06d0ebdb). Each warp has an entry where nothing is merged.
TEST(OnePage, IsAnEntryOfEachWarpWhereNothingIsMerged) { EXPECT_THAT(utlbs_that_ask(0), ElementsAre(0, 0, 0, 0)); }

// Two SMs, a warp each that writes 32 pages of its own, all of them mapped read-only. Each asks for two, and for two
// more when a replay has granted these.
TEST(RefusedWrites, StallTheirSmUntilTheReplay) {
  GpuSpec gpu = two_sms();
  gpu.fault.refused_writes_per_sm = 2;
  const std::vector<Operand> operand = {
      {kManagedBase, 64 * kPageBytes, trace::Mode::Write, trace::Pattern::Strided, 1, 0}};
  const std::vector<trace::PatternOptions> a_float_a_page = {{.width = 4, .stride = kPageBytes, .count = 64}};
  const auto program = make_kernel_program({2, 32}, operand, a_float_a_page);
  PageTable pages;
  const FrameIndex frame = frame_of(page_of(kManagedBase));
  pages.map(frame, PageMask::all(), false, false);
  FaultUnit unit(gpu);
  unit.launch(*program, pages, nanoseconds(6'000), Time{});
  const auto asked = [&] {
    unit.advance(unit.now() + nanoseconds(6'000));
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < unit.buffer().size(); ++i)
      found.push_back(unit.buffer()[i].page - page_of(kManagedBase));
    unit.take(found.size(), unit.now());
    return found;
  };
  EXPECT_THAT(asked(), UnorderedElementsAre(0, 1, 32, 33));
  EXPECT_THAT(asked(), ElementsAre());
  for (const std::uint32_t first : {0u, 32u}) pages.map(frame, PageMask::of({first, first + 2}), true, false);
  unit.replay(unit.now());
  EXPECT_THAT(asked(), UnorderedElementsAre(2, 3, 34, 35));
}

// Two groups of an SM and three slots, a warp each whose threads read pages of their own: 4 ns between two entries, 14
// between those of one group. They ask at once; each has its next one 14 ns after its last.
TEST(TwoGroups, WriteInTurnEachAfterItsInterval) {
  GpuSpec gpu = two_sms();
  gpu.fault.utlb_groups = 2;
  gpu.fault.slots_per_group = 3;
  gpu.fault.entry_interval = nanoseconds(4);
  gpu.fault.group_interval = nanoseconds(14);
  const std::vector<Operand> pages_of_their_own = {
      {kManagedBase, 64 * kPageBytes, trace::Mode::Read, trace::Pattern::Strided, 1, 0}};
  const std::vector<trace::PatternOptions> a_float_a_page = {{.width = 4, .stride = kPageBytes, .count = 64}};
  const auto program = make_kernel_program({2, 32}, pages_of_their_own, a_float_a_page);
  const PageTable pages;
  FaultUnit unit(gpu);
  unit.launch(*program, pages, nanoseconds(6'000), Time{});
  unit.advance(Time{} + nanoseconds(6'000));
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < unit.buffer().size(); ++i) times.push_back(unit.buffer()[i].visible.count() / 1000);
  EXPECT_THAT(times, ElementsAre(0, 4, 14, 18, 28, 32));
}

// c[i] = a[i] by one warp that goes on by a page, three pages: a at 0, c at 512.
class ALoop : public testing::Test {
 protected:
  // The three pages of the array in block `block` come.
  void map(std::uint32_t block) {
    pages_.map(frame_of(page_of(kManagedBase)) + block, PageMask::of({0, 3}), true, false);
  }
  void run() {
    unit_.launch(*program_, pages_, nanoseconds(6'000), Time{});
    unit_.advance(Time{} + nanoseconds(6'000));
  }
  std::vector<std::int64_t> asked() const {
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < unit_.buffer().size(); ++i)
      found.push_back(unit_.buffer()[i].page - page_of(kManagedBase));
    return found;
  }

  const std::vector<Operand> operands_ = {
      {kManagedBase, 3 * kPageBytes, trace::Mode::Read, trace::Pattern::Sequential, 1, -1},
      {kManagedBase + kBlockBytes, 3 * kPageBytes, trace::Mode::Write, trace::Pattern::Sequential, 1, -1}};
  const std::unique_ptr<KernelProgram> program_ = make_kernel_program({1, 32}, operands_, {});
  FaultUnit unit_{two_sms()};
  PageTable pages_;
};

TEST_F(ALoop, WaitsForItsLoads) {
  run();
  EXPECT_THAT(asked(), ElementsAre(0));
}

TEST_F(ALoop, DoesNotWaitForItsStores) {
  map(0);
  run();
  EXPECT_THAT(asked(), ElementsAre(512, 513, 514));
}

TEST_F(ALoop, EndsWhenItsStoresHaveCome) {
  map(0);
  run();
  EXPECT_FALSE(unit_.ended());
  const Time later = Time{} + nanoseconds(50'000);
  map(1);
  unit_.take(3, later);
  unit_.replay(later);
  unit_.advance(later + nanoseconds(10'000));
  EXPECT_TRUE(unit_.ended());
  EXPECT_GE(unit_.end(), later);
}

}  // namespace
}  // namespace uvmsim
