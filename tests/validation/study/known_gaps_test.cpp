// Gaps of validation/DEVIATIONS.md that no measured case watches: what the model does instead. A test here fails when
// its gap closes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "gpu/kernel_program.h"
#include "support/driver_fixture.h"
#include "support/simulated.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using test::operator""_MiB;

Machine machine_with(const std::vector<std::string>& settings = {}, const std::string& name = "v100_sxm2_16gb") {
  return machine_of(name, settings, R"("version": "418.40")");
}

// A program whose calls take the host no more than the machine says.
struct Calls {
  Calls() {
    program.strings = {"kernel"};
    program.ops = {op::Iteration{0}};
  }
  template <class Call>
  Calls& operator<<(Call call) {
    program.ops.push_back(call);
    return *this;
  }
  Calls& allocate(std::int64_t bytes, VirtualAddress at = kManagedBase) {
    return *this << op::MallocManaged{at, bytes};
  }
  Calls& host_touches(std::int64_t bytes, VirtualAddress at = kManagedBase) {
    return *this << op::HostStep{Duration{0}, operand(at, bytes)};
  }
  Calls& kernel(std::int64_t bytes = 0, VirtualAddress at = kManagedBase, int device = 0, std::int64_t grid = 0,
                std::int32_t block = 0, std::int32_t stream = 0) {
    return *this << op::Kernel{.name = 0,
                               .stream = stream,
                               .device = DeviceOrdinal{device},
                               .duration = in_core,
                               .operands = bytes == 0 ? OperandSpan{0, 0} : operand(at, bytes),
                               .grid = grid,
                               .block = block,
                               .gap = Duration{0}};
  }
  Calls& prefetch(std::int64_t bytes, std::int32_t stream = 0) {
    return *this << op::Prefetch{kManagedBase, bytes, DeviceOrdinal{0}, stream};
  }
  Calls& wait() { return *this << op::Synchronize{-1}; }

  Program program;
  Duration in_core = microseconds(200);  // of the kernels from here on

 private:
  OperandSpan operand(VirtualAddress at, std::int64_t bytes) {
    program.operands.push_back({at, bytes, trace::Mode::ReadWrite});
    return {static_cast<std::uint32_t>(program.operands.size() - 1), 1};
  }
};

Result completed(const Machine& machine, const Calls& calls) {
  const Result result = result_of(machine, calls.program);
  EXPECT_EQ(result.outcome, Outcome::Completed);
  return result;
}

// What an observer of the class wrote down, in ps.
template <class Observing>
std::vector<std::int64_t> observed(const Machine& machine, const Calls& calls) {
  ChildProcess child([&] {
    Observing observer;
    run_to_json(machine, calls.program, &observer);
    std::ostringstream text;
    for (const Duration value : observer.values) text << value.count() << " ";
    return text.str();
  });
  std::istringstream text(child.wait());
  return {std::istream_iterator<std::int64_t>(text), {}};
}

struct KernelStarts : Observer {
  std::vector<Duration> values;
  void kernel_started(const KernelStart& kernel) override { values.push_back(kernel.begin); }
};
struct Advices : Observer {
  std::vector<Duration> values;
  void host_call(const HostSpan& call) override {
    if (call.name == "cudaMemAdvise") values.push_back(call.end - call.begin);
  }
};
// Of each fault batch after the first: from the end of the copies of the one before to its begin. Last: the longest
// time that a batch waited for its copies.
struct BatchGaps : Observer {
  std::vector<Duration> values{Duration{0}};
  void fault_batch(const FaultBatchSpan& batch) override {
    if (seen) values.insert(values.end() - 1, batch.begin - copied);
    values.back() = std::max(values.back(), batch.copied - batch.serviced);
    seen = true, copied = batch.copied;
  }
  bool seen = false;
  Time copied{};
};

// Gap 6: a kernel of unknown shape has CTAs of 512 threads, which sweep the operand once by 4 bytes each: 8 MiB are
// 4096 CTAs.
TEST(KnownGap, AnUnknownLaunchShapeIsOneSweepOf512ThreadsAnd4Bytes) {
  const Machine machine = machine_with();
  const auto shaped = [&](std::int64_t grid, std::int32_t block) {
    Calls calls;
    return completed(machine,
                     calls.allocate(8 * kMiB).host_touches(8 * kMiB).kernel(8 * kMiB, kManagedBase, 0, grid, block))
        .history_hash;
  };
  EXPECT_EQ(shaped(0, 0), shaped(4096, 512));
  EXPECT_NE(shaped(0, 0), shaped(8192, 256));
}

// Gap 7: the 16 warps of a CTA that sweeps 512 x 4 bytes touch one page, as one agent of that weight.
TEST(KnownGap, WarpsOfACtaThatTouchOnePageAreOneAgent) {
  const std::vector<Operand> operands{{kManagedBase, kMiB, trace::Mode::Read}};
  const auto program = make_kernel_program({.grid = 512, .block = 512}, operands, {});
  EXPECT_EQ(program->agents(), 1);
  std::vector<Touch> touches;
  program->step(0, 0, 0, touches);
  ASSERT_EQ(touches.size(), 1u);
  EXPECT_EQ(touches[0].weight, 512 / 32);
}

// Gap 8: kernels of several streams run one after the other, 2 x 200 us; on a GPU two small kernels may overlap.
TEST(KnownGap, KernelsOfTwoStreamsDoNotOverlap) {
  Calls calls;
  calls.kernel(0, 0, 0, 1, 32, 1).kernel(0, 0, 0, 1, 32, 2).wait();
  EXPECT_NEAR(completed(machine_with(), calls).duration_s, 400e-6, 40e-6);
}

// Gap 10: what is there already costs a prefetch as much on the CPU as what is not: 32 blocks, two passes.
TEST(KnownGap, APrefetchOfWhatIsThereCostsItsBlocks) {
  const Machine machine = machine_with();
  Calls calls;
  calls.allocate(64 * kMiB).prefetch(64 * kMiB).wait() << op::Iteration{1};
  calls.prefetch(64 * kMiB).wait();
  const DriverCosts& costs = machine.gpus[GpuIndex{0}].driver_costs;
  const double expected = seconds(costs.migrate_call + costs.migrate_block * (2 * 32));
  EXPECT_NEAR(completed(machine, calls).gpus.at(0).iteration_s.at(1), expected,
              seconds(machine.host.runtime.kernel_launch * 2));
}

// Gap 10: 32 blocks pushed by the caller when the stream is idle; by another thread when it is busy with a copy.
TEST(KnownGap, APrefetchHoldsItsCallerOnAnIdleStreamOnly) {
  const Machine machine = machine_with();
  const auto started = [&](bool busy) {
    Calls calls;
    calls.allocate(64 * kMiB);
    if (busy)
      calls << op::Copy{
          trace::CopyDirection::HostToDevice, 2, DeviceOrdinal{}, std::nullopt, 64 * kMiB, {0, 0}, true, true};
    calls.prefetch(64 * kMiB, 2).kernel(0, 0, 0, 1, 32, 1).wait();
    return Duration{observed<KernelStarts>(machine, calls).at(0)};
  };
  const DriverCosts& costs = machine.gpus[GpuIndex{0}].driver_costs;
  const Duration idle = started(false), busy = started(true);
  EXPECT_GT(idle, costs.migrate_call + (costs.migrate_block + costs.new_chunk) * 32);
  EXPECT_LT(busy, machine.host.runtime.malloc_managed_call + machine.host.runtime.kernel_launch * 4);
}

// Gap 10: a discard walks its 32 blocks at the cost of cudaMemAdvise.
TEST(KnownGap, ADiscardCostsAsMuchAsAdvice) {
  const Machine machine = machine_with();
  Calls calls;
  calls.allocate(64 * kMiB).prefetch(64 * kMiB).wait() << op::Iteration{1};
  calls << op::Discard{kManagedBase, 64 * kMiB, 0, false};
  calls.wait();
  const DriverCosts& costs = machine.gpus[GpuIndex{0}].driver_costs;
  EXPECT_NEAR(completed(machine, calls).gpus.at(0).iteration_s.at(1),
              seconds(costs.advise_call + costs.advise_block * 32), seconds(machine.host.runtime.kernel_launch * 2));
}

// Gap 12: cudaMemAdvise takes the VA space's lock for itself in the driver; here it does not wait for fault batches.
TEST(KnownGap, AdviceDoesNotWaitForFaultBatches) {
  const Machine machine = machine_with();
  const auto advice = [&](bool beside_faults) {
    Calls calls;
    calls.allocate(64 * kMiB).allocate(2 * kMiB, kManagedBase + 64 * kMiB).host_touches(64 * kMiB);
    if (beside_faults) calls.kernel(64 * kMiB);
    for (int i = 0; i < 100; ++i) calls << op::Advise{kManagedBase + 64 * kMiB, 2 * kMiB, 1, DeviceOrdinal{0}};
    return observed<Advices>(machine, calls.wait());
  };
  EXPECT_EQ(advice(true), advice(false));
}

// Gap 13: a block's first chunk and the next one that it obtains after an eviction cost new_chunk alike; on a GPU the
// first also maps the host's pages for DMA. Two blocks take turns in memory for one.
TEST(KnownGap, AChunkObtainedAgainCostsAsMuchAsTheFirst) {
  Machine machine = test::small_machine(2_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.new_chunk = microseconds(7);
  test::Driver d(machine, 4_MiB);
  d.cpu_touch(0, 1024);
  EXPECT_EQ(d.read(0).cpu, microseconds(7));
  EXPECT_EQ(d.read(512).evictions.size(), 1u);
  EXPECT_EQ(d.read(0).cpu, microseconds(7));
}

// Gap 15: host and GPU fight until the page is pinned to the host; a second later, long after the pin, the GPU still
// reaches it there, because nothing was serviced meanwhile. A timer would have taken the mapping away.
TEST(KnownGap, APinLastsUntilTheNextService) {
  Calls calls;
  calls.in_core = microseconds(20);
  calls.allocate(64 * kKiB);
  for (int round = 0; round < 200; ++round) calls.kernel(64 * kKiB).host_touches(64 * kKiB);
  calls.wait() << op::HostStep{microseconds(1e6), {0, 0}} << op::Iteration{1};
  calls.kernel(64 * kKiB).wait();
  const GpuResult gpu = completed(machine_with({"driver.version=595.45.04"}), calls).gpus.at(0);
  EXPECT_GT(gpu.counts.remote_bytes, 0);
  EXPECT_LT(gpu.iteration_s.at(1), 50e-6);  // the kernel alone: no fault
}

// Gap 16: with the replay policy "batch" the next batch never begins before the copies of this one are done, where no
// entries are left over that it could begin with. (On Volta some are: its next batch begins up to 2 us before.)
TEST(KnownGap, ReplayPolicyBatchWaitsForTheCopies) {
  Calls calls;
  calls.allocate(16 * kMiB).host_touches(16 * kMiB).kernel(16 * kMiB).wait();
  const std::vector<std::string> settings = {"driver.uvm_perf_fault_replay_policy=1",
                                             "driver.uvm_perf_prefetch_enable=false"};
  const std::vector<std::int64_t> gaps = observed<BatchGaps>(machine_with(settings, "titan_xp"), calls);
  ASSERT_GT(gaps.size(), 10u);
  EXPECT_GT(gaps.back(), 0);
  EXPECT_THAT(gaps, testing::Each(testing::Ge(0)));
}

}  // namespace
}  // namespace uvmsim
