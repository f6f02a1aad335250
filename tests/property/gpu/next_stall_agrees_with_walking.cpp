// KernelProgram::next_stall jumps over CTAs; walking their steps one by one must find the same ones stalled.
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

}  // namespace
}  // namespace uvmsim
