// KernelProgram::miss_run looks at runs of CTAs; walking the steps of each one must find the same touches missing.
#include <gtest/gtest.h>

#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// Whether `missing` says which touches of the step fault now.
bool holds(std::uint64_t missing, const KernelProgram& program, std::int64_t cta, std::int64_t step,
           const PageTable& pages) {
  std::vector<Touch> touches, missed;
  program.step(cta, 0, step, touches);
  program.missed(cta, step, missing, missed);
  std::erase_if(touches, [&](const Touch& touch) { return pages.granted(touch.page, touch.write); });
  return std::equal(touches.begin(), touches.end(), missed.begin(), missed.end(), [](const Touch& a, const Touch& b) {
    return a.page == b.page && a.weight == b.weight && a.write == b.write;
  });
}

// The CTAs of `program` in runs of at most `longest`; returns how many runs there are.
std::int64_t walk(const KernelProgram& program, const PageTable& pages, std::int64_t longest) {
  std::int64_t runs = 0;
  for (std::int64_t step = 0; step < program.max_steps(); ++step) {
    for (std::int64_t cta = 0; cta < program.ctas(); ++runs) {
      const std::int64_t limit = std::min(cta + longest, program.ctas());
      const MissRun run = program.miss_run(cta, limit, step, pages);
      EXPECT_GT(run.outer, cta);
      EXPECT_LE(run.outer, limit);
      if (testing::Test::HasFailure()) return runs;
      for (; cta < run.outer; ++cta) {
        EXPECT_EQ(program.steps(cta, 0), program.max_steps());
        EXPECT_TRUE(holds(run.missing, program, cta, step, pages)) << "step " << step << " cta " << cta;
        if (testing::Test::HasFailure()) return runs;
      }
    }
  }
  return runs;
}

TEST(MissRun, AgreesWithWalkingEveryCta) {
  std::int64_t programs = 0, steps = 0, runs = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random{std::mt19937_64(seed)};
    const RandomKernel k = random.chance(30) ? random_kernel(random) : random_pointwise(random);
    const auto program = make_kernel_program(k.shape, k.operands, k.options);
    ASSERT_NE(program, nullptr);
    if (!program->in_runs()) continue;
    ASSERT_EQ(program->agents(), 1);
    ASSERT_TRUE(program->looks_once());
    PageTable pages;
    for (std::uint32_t f = 0; f < kFrames; ++f)
      pages.map(FrameIndex{f}, random.chance(70) ? PageMask::all() : random_mask(random), !random.chance(10), false);
    runs += walk(*program, pages, random.chance(50) ? program->ctas() : random(1, 100));
    ASSERT_FALSE(HasFailure());
    ++programs;
    steps += program->ctas() * program->max_steps();
  }
  EXPECT_GT(programs, 300);
  EXPECT_GT(steps, 3 * runs) << "CTAs are walked in runs";
}

}  // namespace
}  // namespace uvmsim
