// Runs on machines whose GPUs hang on the processors: NVLink, NVLink-C2C, the far socket, memory from malloc.
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

constexpr double kGiB = 1 << 30;

// GB/s that each GPU named in `to` gets when all copy 1 GiB from the host at the same time.
std::vector<double> rates_from_host(const std::string& to, const std::vector<std::string>& settings = {}) {
  const std::string from = to.size() == 1 ? "-1" : "-1, -1";
  const Result r =
      simulated(micro("ac922_v100_16gb_x4", R"("generator": "concurrent_copies", "repeat": [1], "from": [)" + from +
                                                R"(], "to": [)" + to + "]"),
                settings);
  std::vector<double> rates;
  for (const char gpu : to)
    if (gpu >= '0' && gpu <= '9')
      rates.push_back(kGiB / r.gpus.at(static_cast<std::size_t>(gpu - '0')).duration_s / 1e9);
  return rates;
}

// Three NVLinks of 25 GB/s carry 70.5.
TEST(NvlinkHost, GivesAGpuAloneAllItsLinks) { EXPECT_NEAR(rates_from_host("0").at(0), 70.5, 0.5); }

// Two GPUs of one socket have links of their own, 141 GB/s together; eight channels of DDR4-2666 give 136.5.
TEST(NvlinkHost, IsSharedByNoOtherGpuButMemoryIs) {
  const std::vector<double> rates = rates_from_host("0, 1");
  EXPECT_NEAR(rates.at(0), 68.2, 0.7);
  EXPECT_NEAR(rates.at(1), 68.2, 0.7);
}

TEST(NvlinkHost, OfAnotherSocketHasItsOwnMemory) {
  const std::vector<double> rates = rates_from_host("0, 2");
  EXPECT_NEAR(rates.at(0), 70.5, 0.7);
  EXPECT_NEAR(rates.at(1), 70.5, 0.7);
}

// Everything in the memory of socket 1: GPU 0 crosses the X-bus, 64 GB/s, and shares it with GPU 1; GPU 2 is near.
TEST(FarMemory, IsAsFarAsTheSocketLink) {
  const std::vector<std::string> bound = {"machine.host.membind=memory1"};
  EXPECT_NEAR(rates_from_host("0", bound).at(0), 64, 0.5);
  EXPECT_NEAR(rates_from_host("0, 1", bound).at(0), 32, 0.4);
  EXPECT_NEAR(rates_from_host("2", bound).at(0), 70.5, 0.5);
}

// A kernel that reads 64 MiB. Managed memory that the host has written migrates: the copies bring all of it.
GpuCounts read_on(const std::string& machine, const std::string& memory,
                  const std::vector<std::string>& settings = {}) {
  Program p;
  constexpr std::int64_t kSize = 64 << 20;
  p.operands = {{kManagedBase, kSize, trace::Mode::Write}, {kManagedBase, kSize, trace::Mode::Read}};
  p.ops = {op::MallocManaged{kManagedBase, kSize, memory == "system"}, op::HostStep{Duration{0}, {0, 1}}};
  p.strings = {"read"};
  p.ops.push_back(op::Iteration{0});
  p.ops.push_back(op::Kernel{0, 0, DeviceOrdinal{}, microseconds(100), {1, 1}, 0, 0, Duration{0}});
  p.ops.push_back(op::Synchronize{-1});
  return result_of(machine_of(machine, settings), p).gpus.at(0).counts;
}

TEST(SystemMemoryRun, IsReadWhereTheHostWroteIt) {
  const GpuCounts managed = read_on("gh200_96gb", "managed"), system = read_on("gh200_96gb", "system");
  EXPECT_EQ(managed.h2d_bytes, 64 << 20);
  EXPECT_EQ(managed.remote_bytes, 0);
  EXPECT_EQ(managed.cpu_faults, 6 * 32);  // 6 for each 2 MiB
  EXPECT_EQ(system.remote_bytes, 64 << 20);
  EXPECT_EQ(system.fault_batches, 0);
  EXPECT_EQ(system.cpu_faults, 0);  // the operating system's, none of the driver's
}

TEST(SystemMemoryRun, NeedsAts) {
  const std::string config = micro("v100_pcie_16gb", R"("generator": "first_touch")");
  EXPECT_THROW(experiment_of(config, {"workload.memory=system"}), UserError);
  EXPECT_NO_THROW(experiment_of(micro("gh200_96gb", R"("generator": "first_touch")"), {"workload.memory=system"}));
}

// first_touch writes memory that nobody has touched: it comes to the GPU, and nothing is copied.
TEST(SystemMemoryRun, ComesToTheGpuThatTouchesItFirst) {
  const Result r = simulated(micro("gh200_96gb", R"("generator": "first_touch")", R"("version": "595.45.04")"),
                             {"workload.memory=system"});
  EXPECT_GT(r.gpus.at(0).counts.fault_groups, 0);
  EXPECT_EQ(r.gpus.at(0).counts.remote_bytes, 0);
  EXPECT_EQ(r.gpus.at(0).counts.h2d_bytes, 0);
}

}  // namespace
}  // namespace uvmsim
