// Fetching: which entries merge, how a batch is sorted and cut (driver specification, sections 2.2 to 2.5).
#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;
using enum AccessType;

struct Fetch : testing::Test {
  struct Fault {
    Page page;
    AccessType access;
    std::uint16_t utlb;
  };
  Driver d{small_machine(64_MiB), 8_MiB};
  FaultBatch& fetch(const std::vector<Fault>& faults) {
    std::vector<FaultEntry> entries;
    for (const Fault& fault : faults) entries.push_back({fault.page, fault.access, fault.utlb});
    return d.driver.fetch(GpuIndex{0}, d.space, entries);
  }
};

TEST_F(Fetch, RepeatsOfOneUtlbMergeIntoTheStrongestAccess) {
  const FaultBatch& batch = fetch({{7, Read, 0}, {7, Write, 0}, {7, Read, 0}});
  ASSERT_EQ(batch.faults.size(), 1u);
  EXPECT_EQ(batch.faults[0].access, Write);
  EXPECT_EQ(batch.faults[0].instances, 3u);
  EXPECT_EQ(batch.raw_entries, 3u);
  EXPECT_EQ(batch.duplicates, 2u);
}

// Only the last representative of a uTLB is looked at: 7, 8, 7 stay three faults, of which two are adjacent after
// sorting and count as one duplicate.
TEST_F(Fetch, ARepeatAfterAnotherPageSurvivesFetching) {
  const FaultBatch& batch = fetch({{7, Read, 0}, {8, Read, 0}, {7, Read, 0}});
  EXPECT_EQ(batch.faults.size(), 3u);
  EXPECT_EQ(batch.duplicates, 1u);
}

// uTLB 1 repeats the batch's last page: an equal or weaker access merges, a stronger one does not.
TEST_F(Fetch, AnotherUtlbMergesOnlyNoStrongerAccesses) {
  EXPECT_EQ(fetch({{7, Write, 0}, {7, Read, 1}}).faults.size(), 1u);
  EXPECT_EQ(fetch({{7, Read, 0}, {7, Read, 1}}).faults.size(), 1u);
  const FaultBatch& batch = fetch({{7, Read, 0}, {7, Write, 1}});
  ASSERT_EQ(batch.faults.size(), 2u);
  EXPECT_EQ(batch.faults[0].access, Write) << "the stronger access is sorted first";
  EXPECT_EQ(batch.duplicates, 1u);
}

// uTLB 0's last representative is page 7 although uTLB 1 came between.
TEST_F(Fetch, AUtlbsOwnLastFaultIsRemembered) {
  const FaultBatch& batch = fetch({{7, Read, 0}, {9, Read, 1}, {7, Write, 0}});
  ASSERT_EQ(batch.faults.size(), 2u);
  EXPECT_EQ(batch.faults[0].page, PageNumber{7});
  EXPECT_EQ(batch.faults[0].access, Write);
}

// A merge into another uTLB's representative leaves the own uTLB without one: the write at the end finds neither
// (uTLB 1 has no last fault, and the batch's last one, a read, is weaker).
TEST_F(Fetch, AMergedEntryIsNoRepresentativeOfItsUtlb) {
  EXPECT_EQ(fetch({{7, Read, 0}, {7, Read, 1}, {7, Write, 1}}).faults.size(), 2u);
}

TEST_F(Fetch, WithoutCoalescingEveryEntryStays) {
  Machine machine = small_machine(64_MiB);
  machine.driver.uvm_perf_fault_coalesce = false;
  Driver plain(machine);
  const FaultBatch& batch =
      plain.driver.fetch(GpuIndex{0}, plain.space, std::vector<FaultEntry>(4, {PageNumber{7}, Read, 0}));
  EXPECT_EQ(batch.faults.size(), 4u);
  EXPECT_EQ(batch.duplicates, 3u) << "adjacent duplicates";
}

TEST_F(Fetch, TheBatchIsSortedByPageAndCutAtBlocks) {
  const FaultBatch& batch = fetch({{1030, Read, 0}, {3, Write, 1}, {512, Read, 2}, {511, Read, 3}});
  ASSERT_EQ(batch.faults.size(), 4u);
  EXPECT_EQ(batch.faults[0].page, PageNumber{3});
  EXPECT_EQ(batch.faults[3].page, PageNumber{1030});
  ASSERT_EQ(batch.blocks.size(), 3u);
  EXPECT_EQ(batch.blocks[0].outer - batch.blocks[0].first, 2u);
  EXPECT_EQ(batch.blocks[2].first, 3u);
}

// Advice on the second half of a frame makes two VA blocks of it.
TEST_F(Fetch, TheBatchIsCutAtBlocksInsideAFrame) {
  d.driver.advise(d.space, kManagedBase + 1024 * 1024, 1_MiB, 1, ProcessorId::cpu());
  EXPECT_EQ(fetch({{255, Read, 0}, {256, Read, 0}}).blocks.size(), 2u);
}

// The flush reads PUT again above 50 % duplicates: 2 of 4 are not more, 3 of 5 are.
TEST_F(Fetch, MoreThanHalfDuplicatesUpdatePut) {
  EXPECT_FALSE(d.driver.flush_updates_put(fetch({{1, Read, 0}, {1, Read, 0}, {2, Read, 0}, {2, Read, 0}})));
  EXPECT_TRUE(
      d.driver.flush_updates_put(fetch({{1, Read, 0}, {1, Read, 0}, {2, Read, 0}, {2, Read, 0}, {2, Read, 0}})));
}

// The first service fetches [0, 16), so the fault on page 5 in the next batch finds its entry granted.
TEST_F(Fetch, AFaultOnAMappedPageIsStale) {
  d.read(0);
  const BlockWork& work = d.read(5);
  EXPECT_FALSE(work.serviced);
  EXPECT_EQ(work.faults_stale, 1);
  EXPECT_TRUE(work.copies.empty());
  EXPECT_TRUE(work.map.empty());
}

// A read fault that moves a page maps it writable.
TEST_F(Fetch, AReadFaultMapsForWriting) {
  const BlockWork& work = d.read(0);
  ASSERT_EQ(work.map.size(), 1u);
  EXPECT_EQ(work.map[0].permission, PageTableWrite::Permission::ReadWrite);
  EXPECT_EQ(work.map[0].pages, pages(0, 16));
  EXPECT_FALSE(work.map[0].remote);
  EXPECT_EQ(d.write(0).faults_stale, 1);
}

}  // namespace
}  // namespace uvmsim
