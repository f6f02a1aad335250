// A kernel that misses nothing takes its recorded duration, whatever its launch shape: neither the latency of touches
// nor the start of CTAs is added to what was measured with both in it.
#include <gtest/gtest.h>

#include "gpu/fault_unit.h"
#include "memory/allocator.h"
#include "support/generate.h"
#include "support/plain_fault_unit.h"
#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// Of `program` on `pages`, where each page is there. `walked`: step by step, as after a change of the page table.
template <class Unit>
Duration time_of(Unit&& unit, const KernelProgram& program, const PageTable& pages, Duration in_core, bool walked) {
  const Time at = nanoseconds(7);
  unit.launch(program, pages, in_core, at);
  if constexpr (requires { unit.before_unmap(at); })
    if (walked) unit.before_unmap(at);
  unit.advance_to_fault(kNever);
  EXPECT_TRUE(unit.ended());
  EXPECT_TRUE(unit.buffer().empty());
  return unit.end() - at;
}

class GeneratedKernels : public testing::TestWithParam<std::string> {};

TEST(RecordedDuration, IsThatOfRandomKernelsOnRandomGpus) {
  PageTable pages;
  for (FrameIndex frame; frame.value < kFrames; ++frame) pages.map(frame, PageMask::all(), true, false);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random{std::mt19937_64(seed)};
    const GpuSpec gpu = random_gpu(random);
    RandomKernel k = random_kernel(random);
    if (random.chance(20)) k.in_core = Duration{random(0, 3'000'000)};  // up to 3 us
    const auto program = make_kernel_program(k.shape, k.operands, k.options);
    for (const bool walked : {false, true})
      ASSERT_EQ(time_of(FaultUnit(gpu), *program, pages, k.in_core, walked), k.in_core) << "seed " << seed;
    ASSERT_EQ(time_of(PlainFaultUnit(gpu), *program, pages, k.in_core, true), k.in_core) << "seed " << seed;
  }
}

GpuSpec volta() {
  GpuSpec gpu;
  gpu.sms = 80;
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = 32;
  gpu.memory_bandwidth = BytesPerSecond{900'000'000'000};
  gpu.fault.utlb_groups = 6;
  gpu.fault.slots_per_group = 56;
  gpu.fault.touch_latency = nanoseconds(600);
  gpu.fault.cta_start = nanoseconds(300);
  gpu.fault.warp_stagger = nanoseconds(20);
  return gpu;
}

// About 60 kernels of each generator, spread over its trace, as they are launched and in two random shapes.
TEST_P(GeneratedKernels, TakeTheirRecordedDurationInAnyLaunchShape) {
  const Program placed = place(make_generator(GetParam())->generate(1), {.allocator = "none", .kind = nullptr});
  PageTable pages;
  VirtualAddress end = kManagedBase;
  for (const Operand& o : placed.operands)
    if (o.managed()) end = std::max(end, o.end());
  for (FrameIndex frame; address_of(first_page_of(frame)) < end; ++frame)
    pages.map(frame, PageMask::all(), true, false);
  std::vector<const op::Kernel*> kernels;
  for (const Op& op : placed.ops)
    if (const auto* kernel = std::get_if<op::Kernel>(&op)) kernels.push_back(kernel);
  FaultUnit unit(volta());
  Random random{std::mt19937_64(kernels.size())};
  const std::size_t apart = std::max<std::size_t>(1, kernels.size() / 60);
  for (std::size_t n = 0; n < kernels.size(); n += apart) {
    const op::Kernel& kernel = *kernels[n];
    for (const LaunchShape shape :
         {LaunchShape{kernel.grid, kernel.block}, LaunchShape{random(1, 3000), static_cast<int>(random(1, 32) * 32)},
          LaunchShape{random(1, 80), 1024}}) {
      const auto program = make_kernel_program(
          shape, std::span(placed.operands).subspan(kernel.operands.first, kernel.operands.count), placed.options);
      if (program == nullptr) continue;  // nothing managed: the engine waits for its duration
      ASSERT_EQ(time_of(unit, *program, pages, kernel.duration, true), kernel.duration);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GeneratedKernels, testing::ValuesIn(generators().names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace uvmsim
