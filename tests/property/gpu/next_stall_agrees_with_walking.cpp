// KernelProgram::next_stall jumps over CTAs, next_miss over steps; walking all of them must find the same ones missing.
#include <gtest/gtest.h>

#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;

TEST(NextStall, AgreesWithWalkingEveryCta) {
  int programs = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random{std::mt19937_64(seed)};
    const RandomKernel k = random_kernel(random);
    const auto program = make_kernel_program(k.shape, k.operands, k.options);
    ASSERT_NE(program, nullptr);
    PageTable pages;
    for (std::uint32_t f = 0; f < kFrames; ++f)
      pages.map(FrameIndex{f}, random.chance(70) ? PageMask::all() : random_mask(random), !random.chance(10), false);
    bool any = false;
    StallRun run;
    for (std::int64_t cta = 0; cta < program->ctas(); ++cta) {
      const bool stalls = program->stalls(cta, pages);
      any |= stalls;
      if (!program->looks_once()) continue;
      if (cta >= run.outer) {
        run = program->next_stall(cta, pages);
        ASSERT_GT(run.outer, cta) << "seed " << seed;
      }
      ASSERT_EQ(cta >= run.first, stalls) << "seed " << seed << " cta " << cta << " of " << program->ctas();
    }
    ASSERT_EQ(program->all_granted(pages), !any) << "seed " << seed;
    programs += program->looks_once();
  }
  EXPECT_GT(programs, 200);
}

// Pages come and go between looks: what a program remembers of them must not outlive them.
TEST(NextMiss, SkipsOnlyStepsThatReadWhatIsThere) {
  std::int64_t skipped = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random{std::mt19937_64(seed)};
    const RandomKernel k = random_kernel(random);
    const auto program = make_kernel_program(k.shape, k.operands, k.options);
    PageTable pages;
    for (std::uint32_t f = 0; f < kFrames; ++f) pages.map(FrameIndex{f}, PageMask::all(), true, false);
    std::vector<Touch> touches;
    for (int look = 0; look < 20; ++look) {
      const FrameIndex frame{static_cast<std::uint32_t>(random(0, kFrames - 1))};
      random.chance(50) ? pages.unmap(frame, random_mask(random)) : pages.map(frame, random_mask(random), true, false);
      const std::int64_t cta = random(0, program->ctas() - 1);
      const int agent = static_cast<int>(random(0, program->agents() - 1));
      const std::int64_t from = random(0, program->steps(cta, agent) - 1);
      const std::int64_t next = program->next_miss(cta, agent, from, pages);
      ASSERT_GE(next, from);
      ASSERT_LT(next, program->steps(cta, agent));
      for (std::int64_t step = from; step < next; ++step) {
        program->step(cta, agent, step, touches);
        for (const Touch& touch : touches)
          for (std::uint32_t i = 0; i < touch.pages; ++i)
            ASSERT_TRUE(pages.granted(touch.at(i), touch.write)) << "seed " << seed << " step " << step;
      }
      skipped += next - from;
    }
  }
  EXPECT_GT(skipped, 500);
}

}  // namespace
}  // namespace uvmsim
