// Servicing one block: what moves, in how many copies, and who maps it.
#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

// The CPU writes the whole block in ascending order. Threshold 51, sizes in pages: 16, 16, 32, 64, 128, 256.
TEST(CpuFault, SixFaultsInitialiseABlock) {
  Driver d(small_machine(64_MiB));
  EXPECT_EQ(d.cpu_touch(0, 512), 6);
  EXPECT_TRUE(d.on_cpu(0).full());
  EXPECT_TRUE(d.driver.cpu_mapped(d.space, FrameIndex{0}).full());
  d.driver.audit();
}

// Read back from the GPU: nothing is resident on the CPU at first, so again 6 faults.
TEST(CpuFault, SixFaultsReadABlockBackFromTheGpu) {
  Driver d(small_machine(64_MiB));
  d.cpu_touch(0, 512);
  d.driver.migrate(d.space, kManagedBase, 2_MiB, ProcessorId::gpu(GpuIndex{0}))->next();
  EXPECT_TRUE(d.on_gpu(0).full());
  EXPECT_EQ(d.cpu_touch(0, 512, AccessType::Read), 6);
  EXPECT_TRUE(d.on_cpu(0).full());
  d.driver.audit();
}

// One thread adds two vectors page by page. Each service moves the faulted page and, as a run of its own, the
// pages the prefetcher adds: 2 copies for each of the 6 services of a block, 12 in all.
TEST(Service, OneThreadMovesABlockInSixServicesAndTwelveCopies) {
  Driver d(small_machine(64_MiB));
  d.cpu_touch(0, 512);
  int services = 0, copies = 0;
  std::vector<std::int64_t> kib;
  for (std::uint32_t page = 0; page < 512; ++page) {
    if (d.on_gpu(0).test(page)) continue;
    const BlockWork& work = d.read(page);
    ASSERT_EQ(work.copies.size(), 1u);
    ++services;
    copies += work.copies[0].copies;
    EXPECT_EQ(work.copies[0].methods, work.copies[0].copies) << "both sides are one 2 MiB chunk";
    kib.push_back(work.copies[0].bytes.value / 1024);
    EXPECT_EQ(work.copies[0].bytes - work.copies[0].prefetch_bytes, 4_KiB);
  }
  EXPECT_EQ(services, 6);
  EXPECT_EQ(copies, 12);
  EXPECT_EQ(kib, (std::vector<std::int64_t>{64, 64, 128, 256, 512, 1024}));
  d.driver.audit();
}

// Two blocks fit. Each write fault on a never-touched block populates without copies; the third evicts the first.
TEST(Eviction, TheLeastRecentlyServicedBlockGoes) {
  Driver d(small_machine(4_MiB), 6_MiB);
  d.write(page_in(0, 0));
  d.write(page_in(1, 0));
  d.write(page_in(0, 16));
  const BlockWork& work = d.write(page_in(2, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  EXPECT_EQ(work.evictions[0].bytes, 64_KiB);
  EXPECT_TRUE(d.on_gpu(1).none());
  EXPECT_EQ(d.on_cpu(1), pages(0, 16));
  EXPECT_TRUE(d.driver.cpu_mapped(d.space, FrameIndex{1}).none());
  d.driver.audit();
}

}  // namespace
}  // namespace uvmsim
