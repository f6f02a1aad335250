// cudaMemPrefetchAsync on one stream, either way, while kernels on another one fault on the same pages: the run ends.
// What the driver holds as mapped is mapped, or a fault would be stale for ever.
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

constexpr int kFrames = 16;
constexpr unsigned kPatience = 30;  // seconds until a run without an end is killed; one with takes a tenth of one

// Kernels and prefetches of a few frames each, in random order, on streams of their own.
Program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  Program p;
  p.strings = {"kernel"};
  p.ops = {op::MallocManaged{kManagedBase, kFrames * kBlockBytes}, op::Iteration{0}};
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t first = below(kFrames), frames = 1 + below(std::min<std::uint64_t>(4, kFrames - first));
    const VirtualAddress address = kManagedBase + first * static_cast<std::uint64_t>(kBlockBytes);
    const auto bytes = static_cast<std::int64_t>(frames) * kBlockBytes;
    if (below(2) == 0) {
      const auto destination = below(3) == 0 ? std::optional(DeviceOrdinal{0}) : std::nullopt;
      p.ops.push_back(op::Prefetch{address, bytes, destination, 1});
      continue;
    }
    const auto mode = below(2) == 0 ? trace::Mode::Read : trace::Mode::ReadWrite;
    p.ops.push_back(op::Kernel{.name = 0,
                               .stream = 0,
                               .device = DeviceOrdinal{0},
                               .duration = microseconds(20),
                               .operands = {static_cast<std::uint32_t>(p.operands.size()), 1},
                               .grid = 0,
                               .block = 0,
                               .gap = Duration{0}});
    p.operands.push_back({address, bytes, mode});
  }
  p.ops.push_back(op::Synchronize{-1});
  return p;
}

TEST(ConcurrentPrefetches, LeaveNoFaultStaleForEver) {
  const Machine machine = machine_of("v100_pcie_16gb");
  Machine small = machine;  // evictions, too
  small.gpus.front().usable_memory = Bytes{kFrames / 2 * kBlockBytes};
  std::int64_t batches = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = random_program(seed);
    ChildProcess child([&] {
      alarm(kPatience);
      const Process process{&program, all_gpus(machine)};
      return to_json(run(seed % 2 == 0 ? machine : small, {&process, 1}, {.warmup = 0, .audit = true, .progress = {}}));
    });
    std::optional<Result> result;
    ASSERT_NO_THROW(result = result_from_json(child.wait()));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->outcome, Outcome::Completed);
    for (const GpuResult& gpu : result->gpus) batches += gpu.counts.fault_batches;
  }
  EXPECT_GT(batches, 1000);
}

}  // namespace
}  // namespace uvmsim
