// Module parameters that act inside the driver model, each against its default.
#include <gtest/gtest.h>

#include "support/driver_fixture.h"
#include "uvm/thrashing.h"

namespace uvmsim {
namespace {

using namespace test;

// The first touch of one page brings the largest host chunk that is allowed.
TEST(ModuleParameters, HostChunkSizes) {
  const auto first_touch = [](std::int64_t sizes) {
    Machine machine = small_machine(8_MiB);
    machine.driver.uvm_cpu_chunk_allocation_sizes = sizes;
    machine.driver.uvm_perf_prefetch_enable = false;
    Driver d(machine, 4_MiB);
    d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0});
    return d.driver.host_bytes();
  };
  EXPECT_EQ(first_touch(DriverConfig{}.uvm_cpu_chunk_allocation_sizes), 2_MiB);
  EXPECT_EQ(first_touch(0x11000), 64_KiB);
  EXPECT_EQ(first_touch(0x1000), 4_KiB);
}

// Hints a whole lapse apart vote +1 each. With a threshold of 2 the second lets the lapse grow by an eighth,
// 500 -> 562.5 us; with 32 two votes change nothing.
TEST(ModuleParameters, VotesBeforeTheLapseAdapts) {
  const auto lapse_after_two = [](int threshold) {
    DriverConfig config;
    config.uvm_perf_lapse_vote_threshold = threshold;
    ThrashingSpace space(ThrashingRules(config, driver_traits(config.version)));
    for (int vote = 0; vote < 2; ++vote) space.vote(space.lapse);
    return space.lapse;
  };
  EXPECT_EQ(lapse_after_two(2), microseconds(562.5));
  EXPECT_EQ(lapse_after_two(DriverConfig{}.uvm_perf_lapse_vote_threshold), microseconds(500));
}

}  // namespace
}  // namespace uvmsim
