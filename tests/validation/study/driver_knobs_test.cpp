// Every key of the driver section, varied, changes some result; and every one is varied here.
#include <gtest/gtest.h>
#include <map>

#include "machine/description.h"
#include "support/simulated.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// On a GPU with 16 MiB: 32 MiB of managed memory beside 4 MiB of cudaMalloc. Host and GPU fight over 64 KiB
// until they are pinned; over others for a short while each time, with rests shorter and longer than the epoch of 1 s.
// 4 MiB are advised to be accessed where they are, and are, by five kernels.
Program everything_the_driver_decides() {
  const VirtualAddress large = kManagedBase, fought = large + 64 * kMiB, remote = fought + 6 * kMiB;
  enum : std::uint32_t { kLarge, kRemote, kStrided, kPinned, kRested, kForgotten };
  Program p;
  p.strings = {"kernel"};
  p.options = {{.width = 4, .stride = 128, .count = 32768}};
  p.operands = {{large, 32 * kMiB, trace::Mode::ReadWrite},
                {remote, 4 * kMiB, trace::Mode::Read},
                {large, 4 * kMiB, trace::Mode::Read, trace::Pattern::Strided, 1, 0}};
  for (int array = 0; array < 3; ++array)
    p.operands.push_back({fought + static_cast<VirtualAddress>(array) * 2 * kMiB, 64 * kKiB, trace::Mode::ReadWrite});
  const auto kernel = [&](std::uint32_t operand, Duration duration, int block = 256, int grid = 0) {
    p.ops.push_back(op::Kernel{.name = 0,
                               .stream = 0,
                               .device = DeviceOrdinal{0},
                               .duration = duration,
                               .operands = {operand, 1},
                               .grid = grid,
                               .block = block,
                               .gap = Duration{0}});
  };
  const auto host = [&](std::uint32_t operand) { p.ops.push_back(op::HostStep{Duration{0}, {operand, 1}}); };
  const auto pause = [&](double us) { p.ops.push_back(op::HostStep{microseconds(us), {0, 0}}); };
  const auto fight = [&](std::uint32_t operand, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      kernel(operand, microseconds(20));
      p.ops.push_back(op::HostStep{microseconds(60), {operand, 1}});
    }
    p.ops.push_back(op::Synchronize{-1});
  };
  p.ops = {op::Iteration{0}, op::MallocManaged{large, 32 * kMiB}, op::MallocManaged{remote, 4 * kMiB}};
  for (VirtualAddress array = fought; array < remote; array += 2 * kMiB)
    p.ops.push_back(op::MallocManaged{array, 64 * kKiB});
  host(kLarge);
  host(kRemote);
  kernel(kLarge, microseconds(200));
  kernel(kLarge, microseconds(200));
  kernel(kStrided, microseconds(200), 256, 128);
  p.ops.push_back(op::Synchronize{-1});
  p.ops.push_back(op::MallocDevice{1 << 21, 4 * kMiB, DeviceOrdinal{0}});
  kernel(kLarge, microseconds(200));
  fight(kPinned, 200);
  for (int again = 0; again < 6; ++again) {
    fight(kRested, 12);
    pause(0.1e6);
  }
  for (int again = 0; again < 6; ++again) {
    fight(kForgotten, 12);
    pause(1.2e6);
  }
  p.ops.push_back(op::Advise{remote, 4 * kMiB, 3, DeviceOrdinal{0}});
  for (int k = 0; k < 5; ++k) {
    kernel(kRemote, microseconds(50));
    p.ops.push_back(op::Synchronize{-1});
    pause(5e3);
  }
  return p;
}

std::string outcome(const std::vector<std::string>& settings) {
  std::vector<std::string> all = {"machine.gpu.usable_memory=16 MiB"};
  all.insert(all.end(), settings.begin(), settings.end());
  ChildProcess child([&] { return run_to_json(machine_of("v100_pcie_16gb", all), everything_the_driver_decides()); });
  return child.wait();
}

// Another value for each key.
const std::map<std::string, std::string>& varied() {
  static const std::map<std::string, std::string> values = {{"version", "515.43.04"},
                                                            {"uvm_perf_prefetch_enable", "false"},
                                                            {"uvm_perf_prefetch_threshold", "5"},
                                                            {"uvm_perf_prefetch_min_faults", "20"},
                                                            {"uvm_perf_fault_batch_count", "16"},
                                                            {"uvm_perf_fault_replay_policy", "1"},
                                                            {"uvm_perf_fault_replay_update_put_ratio", "99"},
                                                            {"uvm_perf_fault_max_batches_per_service", "1"},
                                                            {"uvm_perf_fault_max_throttle_per_service", "1"},
                                                            {"uvm_perf_fault_coalesce", "false"},
                                                            {"uvm_perf_thrashing_enable", "false"},
                                                            {"uvm_perf_thrashing_threshold", "1"},
                                                            {"uvm_perf_thrashing_pin_threshold", "1"},
                                                            {"uvm_perf_thrashing_lapse_usec", "5000"},
                                                            {"uvm_perf_thrashing_nap", "10"},
                                                            {"uvm_perf_thrashing_epoch", "1"},
                                                            {"uvm_perf_thrashing_pin", "1"},
                                                            {"uvm_perf_thrashing_max_resets", "0"},
                                                            {"uvm_cpu_chunk_allocation_sizes", "4096"},
                                                            {"uvm_global_oversubscription", "false"},
                                                            {"tools_migration_events", "true"},
                                                            {"uvm_perf_access_counter_migration_enable", "1"},
                                                            {"uvm_perf_access_counter_threshold", "40000"},
                                                            {"uvm_perf_access_counter_batch_count", "1"},
                                                            {"uvm_perf_access_counter_granularity", "64 KiB"},
                                                            {"uvm_perf_map_remote_on_eviction", "false"},
                                                            {"prefetch_policy", "whole_block"},
                                                            {"eviction_policy", "random"},
                                                            {"eviction_granularity", "64 KiB"}};
  return values;
}

TEST(DriverKnobs, AreAllVaried) {
  // Decides only about gaps within an eighth of the lapse: ModuleParameters.VotesBeforeTheLapseAdapts in unit/uvm.
  const std::string elsewhere = "uvm_perf_lapse_vote_threshold";
  for (const FieldInfo& field : describe_driver().fields)
    EXPECT_TRUE(varied().contains(field.name) || field.name == elsewhere) << field.name;
  EXPECT_EQ(varied().size() + 1, describe_driver().fields.size());
}

class DriverKnob : public ::testing::TestWithParam<std::pair<const std::string, std::string>> {};

TEST_P(DriverKnob, ChangesAResult) {
  const std::string setting = "driver." + GetParam().first + "=" + GetParam().second;
  const std::vector<std::vector<std::string>> beside = {{}, {"driver.uvm_perf_access_counter_migration_enable=1"}};
  for (std::vector<std::string> settings : beside) {
    const std::string before = outcome(settings);
    settings.push_back(setting);
    if (outcome(settings) != before) return;
  }
  FAIL() << setting << " changes nothing";
}

INSTANTIATE_TEST_SUITE_P(Keys, DriverKnob, ::testing::ValuesIn(varied()),
                         [](const auto& key) { return key.param.first; });

TEST(DriverKnobProbe, Completes) {
  for (const char* counters : {"-1", "1"}) {
    const auto result =
        result_from_json(outcome({std::string("driver.uvm_perf_access_counter_migration_enable=") + counters}));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->outcome, Outcome::Completed) << result->detail;
    EXPECT_GT(result->gpus.at(0).counts.evicted_chunks, 0);
    EXPECT_GT(result->gpus.at(0).counts.remote_bytes, 0);
  }
}

}  // namespace
}  // namespace uvmsim
