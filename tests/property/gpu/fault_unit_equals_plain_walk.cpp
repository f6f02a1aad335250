// FaultUnit skips what cannot matter; the plain walk skips nothing. On random kernels, machines and drivers
// every fault entry, its time, and the end of every kernel must be the same, to the picosecond.
#include <gtest/gtest.h>

#include "gpu/fault_unit.h"
#include "support/plain_fault_unit.h"
#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// A driver without sense: grants what was asked for and more, sometimes late, sometimes takes pages away.
void play(std::uint64_t seed, RandomKernel (*make_kernel)(Random&)) {
  Random random{std::mt19937_64(seed)};
  const GpuSpec gpu = random_gpu(random);
  FaultUnit fast(gpu);
  PlainFaultUnit plain(gpu);
  PageTable pages;
  for (std::uint32_t f = 0; f < kFrames; ++f)
    pages.map(FrameIndex{f}, random.chance(40) ? PageMask::all() : random_mask(random), !random.chance(10), false);
  Time t{};
  for (int kernel = 0; kernel < 3; ++kernel) {
    const RandomKernel k = make_kernel(random);
    const auto program = make_kernel_program(k.shape, k.operands, k.options);
    ASSERT_NE(program, nullptr);
    fast.take(fast.buffer().size(), t);  // what the kernel before left is stale: the end of a kernel waits for nobody
    plain.take(plain.buffer().size(), t);
    fast.launch(*program, pages, k.in_core, t);
    plain.launch(*program, pages, k.in_core, t);
    for (int action = 0;; ++action) {
      ASSERT_LT(action, 200'000) << "the kernel never ends";
      if (action == 0 && random.chance(40)) {  // pages go while the kernel runs, perhaps without a fault so far
        const Time until = std::min(t + Duration{random(0, 500'000) * 1000}, fast.end());
        if (until > t && (plain.buffer().empty() || until < plain.buffer().front().visible)) {
          t = until;
          fast.before_unmap(t);
          plain.advance(t);
          pages.unmap(FrameIndex{static_cast<std::uint32_t>(random(0, kFrames - 1))}, random_mask(random));
        }
      }
      if (plain.buffer().empty()) {
        fast.advance_to_fault(kNever);
        plain.advance_to_fault(kNever);
      }
      ASSERT_EQ(fast.ended(), plain.ended());
      if (fast.ended()) break;
      ASSERT_FALSE(plain.buffer().empty());
      ASSERT_FALSE(fast.buffer().empty());
      t = std::max(t, plain.buffer().front().visible) + Duration{random(0, 3000) * 100};
      fast.advance(t);
      plain.advance(t);
      ASSERT_EQ(fast.buffer().size(), plain.buffer().size()) << "at action " << action;
      for (std::size_t i = 0; i < plain.buffer().size(); ++i) {
        ASSERT_EQ(fast.buffer()[i].visible, plain.buffer()[i].visible);
        ASSERT_EQ(fast.buffer()[i].page, plain.buffer()[i].page);
        ASSERT_EQ(fast.buffer()[i].utlb, plain.buffer()[i].utlb);
        ASSERT_EQ(fast.buffer()[i].write, plain.buffer()[i].write);
      }
      const auto taken = static_cast<std::size_t>(random(1, static_cast<std::int64_t>(plain.buffer().size())));
      std::vector<BufferedFault> batch(plain.buffer().begin(),
                                       plain.buffer().begin() + static_cast<std::ptrdiff_t>(taken));
      fast.take(taken, t);
      plain.take(taken, t);
      if (random.chance(15)) {
        fast.before_unmap(t);
        plain.advance(t);
        pages.unmap(FrameIndex{static_cast<std::uint32_t>(random(0, kFrames - 1))}, random_mask(random));
      }
      const bool discards = random.chance(50);
      if (discards) fast.discard();
      t += Duration{random(0, 30'000) * 1000};
      fast.advance(t);
      plain.advance(t);
      for (const BufferedFault& f : batch) {
        PageMask grant = random.chance(30) ? random_mask(random) : PageMask{};
        grant.set(page_in_frame(f.page));
        const bool writable = f.write || random.chance(80);
        if (!writable) fast.before_unmap(t);  // some were writable
        if (!random.chance(5)) pages.map(frame_of(f.page), grant, writable, false);
      }
      if (random.chance(30)) {  // grants are seen before the replay by whoever is not stalled
        t += Duration{random(0, 2000) * 1000};
        fast.advance(t);
        plain.advance(t);
      }
      if (discards) {
        const auto seen = std::ranges::count_if(plain.buffer(), [&](const BufferedFault& f) { return f.visible <= t; });
        ASSERT_EQ(fast.flush(t), seen);
        plain.take(static_cast<std::size_t>(seen), t);
      }
      fast.replay(t);
      plain.replay(t);
    }
    ASSERT_EQ(fast.end(), plain.end()) << "kernel " << kernel;
    t = fast.end() + Duration{random(0, 5) * 1000};
  }
}

class FaultUnitEqualsPlainWalk : public testing::TestWithParam<int> {
 protected:
  void play_some(RandomKernel (*make_kernel)(Random&)) {
    for (int i = 0; i < 60; ++i) {
      const auto seed = static_cast<std::uint64_t>(GetParam() * 1000 + i);
      SCOPED_TRACE("seed " + std::to_string(seed));
      play(seed, make_kernel);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(FaultUnitEqualsPlainWalk, OnRandomKernels) { play_some(random_kernel); }
TEST_P(FaultUnitEqualsPlainWalk, OnPointwiseKernels) { play_some(random_pointwise); }

INSTANTIATE_TEST_SUITE_P(Seeds, FaultUnitEqualsPlainWalk, testing::Range(0, 50));

}  // namespace
}  // namespace uvmsim
