// Discarding without unmapping (driver 580 and later).
#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

// 64 KiB are written and discarded. The mapping stays, so writing takes no fault and does not tell the driver: what
// leaves is not copied.
TEST(LazyDiscard, KeepsTheMappingAndTheMark) {
  Driver d(small_machine(2_MiB), 4_MiB);
  d.write(page_in(0, 0));
  EXPECT_TRUE(d.driver.discard(d.space, kManagedBase, 2_MiB, true).empty());
  EXPECT_FALSE(d.write(page_in(0, 0)).serviced);
  EXPECT_TRUE(d.write(page_in(1, 0)).evictions.at(0).copies.empty());
  d.driver.audit();
}

// The eager form unmaps the pages of the block.
TEST(LazyDiscard, TheEagerFormUnmaps) {
  Driver d(small_machine(2_MiB), 4_MiB);
  d.write(page_in(0, 0));
  EXPECT_EQ(d.driver.discard(d.space, kManagedBase, 2_MiB).size(), 1u);
}

// A prefetch makes the contents live again: they are copied when they leave. It is of the one resident page group.
TEST(LazyDiscard, APrefetchMakesTheContentsLive) {
  Driver d(small_machine(2_MiB), 4_MiB);
  d.write(page_in(0, 0));
  d.driver.discard(d.space, kManagedBase, 64_KiB, true);
  const auto migration = d.driver.migrate(d.space, kManagedBase, 64_KiB, kGpu);
  while (migration->next() != nullptr) {
  }
  EXPECT_EQ(copied(d.write(page_in(1, 0)).evictions.at(0).copies, kGpu, kCpu), 64_KiB);
  d.driver.audit();
}

}  // namespace
}  // namespace uvmsim
