// What the copies of one block cost, with and without a profiler that is told of each.
#include <gtest/gtest.h>

#include "support/simulated.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// One thread reads page 1 of 2 MiB that the host wrote: 64 KiB come as page 0 (prefetched), page 1, pages 2 to 15.
Result one_fault(const std::string& method_latency, const std::string& tools) {
  Program p;
  p.host_op = Duration{0};
  p.strings = {"kernel"};
  p.operands = {{kManagedBase, 2 * kMiB, trace::Mode::Write}, {kManagedBase + 4096, 4, trace::Mode::Read}};
  op::Kernel kernel{};
  kernel.device = DeviceOrdinal{0};
  kernel.duration = microseconds(1);
  kernel.operands = {1, 1};
  kernel.grid = 1;
  kernel.block = 1;
  p.ops = {op::Iteration{0}, op::MallocManaged{kManagedBase, 2 * kMiB}, op::HostStep{Duration{0}, {0, 1}}, kernel,
           op::Synchronize{}};
  return result_of(machine_of("v100_sxm2_16gb", {"machine.gpu.copy.method_latency=" + method_latency,
                                                 "driver.tools_migration_events=" + tools}),
                   p);
}

double copying_us(const std::string& method_latency, const std::string& tools) {
  return one_fault(method_latency, tools).gpus.at(0).time_split_s.copy_in_s * 1e6;
}

TEST(CopyStarts, OnePerPush) {
  EXPECT_EQ(one_fault("10 us", "false").gpus.at(0).counts.h2d_copies, 3);
  EXPECT_NEAR(copying_us("10 us", "false") - copying_us("0 s", "false"), 10, 0.001);
}

TEST(CopyStarts, OnePerRunThatAProfilerIsToldOf) {
  EXPECT_NEAR(copying_us("10 us", "true") - copying_us("0 s", "true"), 30, 0.001);
}

}  // namespace
}  // namespace uvmsim
