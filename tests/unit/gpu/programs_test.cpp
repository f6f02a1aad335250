// In which steps the CTAs of a kernel touch which pages, by the shape of the access.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/kernel_program.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using trace::Mode;
using trace::Pattern;

// A kernel over operands that each begin 16 MiB after the one before.
class ProgramsTest : public testing::Test {
 protected:
  static constexpr std::int64_t kApart = 16 * kMiB;

  void operand(std::int64_t bytes, Mode mode, Pattern pattern, trace::PatternOptions options = {}) {
    const auto offset = static_cast<VirtualAddress>(kApart) * operands_.size();
    operands_.push_back({kManagedBase + offset, bytes, mode, pattern, 1, static_cast<std::int32_t>(options_.size())});
    options_.push_back(std::move(options));
  }
  const KernelProgram& launch(LaunchShape shape = {}) {
    program_ = make_kernel_program(shape, operands_, options_);
    return *program_;
  }
  // The pages of a step, counted from the first managed one, in issue order.
  std::vector<std::int64_t> pages(std::int64_t cta, int agent, std::int64_t step) const {
    std::vector<Touch> touches;
    program_->step(cta, agent, step, touches);
    std::vector<std::int64_t> pages;
    for (const Touch& t : touches)
      for (std::uint32_t i = 0; i < t.pages; ++i) pages.push_back(t.at(i) - page_of(kManagedBase));
    return pages;
  }

  // How many warps touch each page of the first step of CTA 0.
  std::vector<int> warps() const {
    std::vector<Touch> touches;
    program_->step(0, 0, 0, touches);
    std::vector<int> warps;
    for (const Touch& t : touches) warps.insert(warps.end(), t.pages, t.weight);
    return warps;
  }

  std::vector<Operand> operands_;
  std::vector<trace::PatternOptions> options_;
  std::unique_ptr<KernelProgram> program_;
};

// Four threads, 16 KiB each, a page per step: the last step is the last element of each chunk, on its fourth page.
TEST_F(ProgramsTest, EachThreadWalksItsChunk) {
  operand(64 * kKiB, Mode::Read, Pattern::Sequential, {.chunk = 16 * kKiB});
  EXPECT_EQ(launch({1, 4}).max_steps(), 5);
  EXPECT_THAT(pages(0, 0, 0), ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(pages(0, 0, 1), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(pages(0, 0, 3), ElementsAre(3, 7, 11, 15));
  EXPECT_THAT(pages(0, 0, 4), ElementsAre(3, 7, 11, 15));
}

// ATAX's first kernel: row r of 1200 floats begins at 4800 r, on page 1.17 r; a thread goes to the next page once.
TEST_F(ProgramsTest, AThreadPerRowIsAChunkOfARow) {
  operand(4 * 4800, Mode::Read, Pattern::Sequential, {.chunk = 4800});
  EXPECT_EQ(launch({5, 256}).ctas(), 1) << "four threads are enough";
  EXPECT_THAT(pages(0, 0, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(pages(0, 0, 1), ElementsAre(1, 2, 3, 4));  // 4096 B on
  EXPECT_THAT(pages(0, 0, 2), ElementsAre(1, 2, 3, 4));  // the last element: 4796 B on
}

// Two threads and four chunks of 4 KiB: thread t takes chunks t and t + 2, two steps each.
TEST_F(ProgramsTest, FewerThreadsThanChunksGoRoundAgain) {
  operand(16 * kKiB, Mode::Read, Pattern::Sequential, {.chunk = 4 * kKiB});
  EXPECT_EQ(launch({1, 2}).max_steps(), 4);
  EXPECT_THAT(pages(0, 0, 0), ElementsAre(0, 1));
  EXPECT_THAT(pages(0, 0, 2), ElementsAre(2, 3));
}

// One element per 64 KiB, 16 pages: eight places, two to a thread.
TEST_F(ProgramsTest, SparsePlacesComeInChunksToo) {
  operand(512 * kKiB, Mode::Read, Pattern::Strided, {.width = 4, .stride = 64 * kKiB, .chunk = 128 * kKiB});
  EXPECT_EQ(launch({1, 4}).max_steps(), 2);
  EXPECT_THAT(pages(0, 0, 0), ElementsAre(0, 32, 64, 96));
  EXPECT_THAT(pages(0, 0, 1), ElementsAre(16, 48, 80, 112));
}

// c[i] = a[i] by one warp that goes on by a page, six pages, four rounds at a time: it loads pages 0 to 3 of a, stores
// those of c, then 4 and 5.
TEST_F(ProgramsTest, AnUnrolledLoopLoadsItsRoundsBeforeItStores) {
  operand(24 * kKiB, Mode::Read, Pattern::Sequential, {.unroll = 4});
  operand(24 * kKiB, Mode::Write, Pattern::Sequential);
  EXPECT_EQ(launch({1, 32}).steps(0, 0), 4);
  EXPECT_THAT(pages(0, 0, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(pages(0, 0, 1), ElementsAre(4096, 4097, 4098, 4099));
  EXPECT_THAT(pages(0, 0, 2), ElementsAre(4, 5));
  EXPECT_THAT(pages(0, 0, 3), ElementsAre(4100, 4101));
}

// c[i] = b[a[i]]: a, then the places of b that it names, then the store.
TEST_F(ProgramsTest, ADependentOperandIsLoadedAfterThoseBeforeIt) {
  operand(4 * kKiB, Mode::Read, Pattern::Sequential);
  operand(4 * kKiB, Mode::Read, Pattern::Random, {.count = 32, .dependent = true});
  operand(4 * kKiB, Mode::Write, Pattern::Sequential);
  EXPECT_EQ(launch({1, 32}).max_steps(), 3);
  EXPECT_THAT(pages(0, 0, 0), ElementsAre(0));
  EXPECT_THAT(pages(0, 0, 1), ElementsAre(kApart / kPageBytes));
  EXPECT_THAT(pages(0, 0, 2), ElementsAre(2 * kApart / kPageBytes));
}

TEST_F(ProgramsTest, OperandsAreLoadedTogetherUnlessTheyDepend) {
  for (const bool dependent : {false, true}) {
    operands_.clear();
    options_.clear();
    operand(4 * kKiB, Mode::Read, Pattern::Sequential);
    operand(4 * kKiB, Mode::Read, Pattern::Sequential, {.dependent = dependent});
    operand(4 * kKiB, Mode::Read, Pattern::Sequential);
    EXPECT_EQ(launch({1, 1024}).max_steps(), dependent ? 2 : 1);
    if (!dependent) continue;
    EXPECT_THAT(pages(0, 0, 0), ElementsAre(0));
    EXPECT_THAT(pages(0, 0, 1), ElementsAre(4096, 8192)) << "what follows comes with it";
  }
}

// A page per row. Of CTAs of 32 x 8 warp w has row w: it reads that one and those around it, and writes it.
TEST_F(ProgramsTest, AWarpOfAWideCtaHasARow) {
  const trace::PatternOptions grid{.rows = 1024, .columns = 1024, .block_x = 32, .block_y = 8};
  operand(4 * kMiB, Mode::Read, Pattern::Stencil, grid);
  operand(4 * kMiB, Mode::Write, Pattern::Grid2d, grid);
  EXPECT_EQ(launch().ctas(), 32 * 128);
  EXPECT_EQ(program_->agents(), 8);
  EXPECT_THAT(pages(1, 3, 0), ElementsAre(2, 3, 4));
  EXPECT_THAT(pages(1, 3, 1), ElementsAre(4096 + 3));
  EXPECT_THAT(pages(32, 0, 0), ElementsAre(7, 8, 9)) << "the second row of CTAs";
}

// CTAs of 24 x 4: the first of three warps has row 0 and eight threads of row 1.
TEST_F(ProgramsTest, AWarpMayHavePartsOfRows) {
  operand(4 * kMiB, Mode::Write, Pattern::Grid2d, {.rows = 1024, .columns = 1024, .block_x = 24, .block_y = 4});
  EXPECT_EQ(launch().agents(), 3);
  EXPECT_THAT(pages(0, 0, 1), ElementsAre(0, 1));
  EXPECT_THAT(pages(0, 1, 1), ElementsAre(1, 2));
  EXPECT_THAT(pages(0, 2, 1), ElementsAre(2, 3));
}

// One row of 256 threads with a border of 2: nothing has room for one, so there is none.
TEST_F(ProgramsTest, AFlatCtaHasNoBorder) {
  operand(4 * kMiB, Mode::Read, Pattern::Stencil,
          {.rows = 1024, .columns = 1024, .count = 2, .block_x = 256, .block_y = 1});
  EXPECT_EQ(launch().ctas(), 4 * 1024);
}

// Two images of four channels of 16 KiB: a channel has four pages of each, image 1 begins on page 16. CTA 1 walks pages
// 4 to 7 and 20 to 23, two a step; with two passes it loads all of them before it stores each piece behind its load.
TEST_F(ProgramsTest, AChannelIsWalkedImageAfterImage) {
  operand(128 * kKiB, Mode::Read, Pattern::Channels, {.stride = 16 * kKiB, .count = 4});
  operand(128 * kKiB, Mode::Write, Pattern::Channels, {.stride = 16 * kKiB, .count = 4});
  operands_[0].passes = 2;
  EXPECT_EQ(launch().ctas(), 4);
  EXPECT_EQ(program_->max_steps(), 4 + 2 * 4);
  EXPECT_THAT(pages(1, 0, 0), ElementsAre(4, 5));
  EXPECT_THAT(pages(1, 0, 1), ElementsAre(6, 7));
  EXPECT_THAT(pages(1, 0, 2), ElementsAre(20, 21));
  EXPECT_THAT(pages(1, 0, 4), ElementsAre(4, 5)) << "the second pass";
  EXPECT_THAT(pages(1, 0, 5), ElementsAre(4096 + 4, 4096 + 5));
  EXPECT_THAT(pages(3, 0, 11), ElementsAre(4096 + 30, 4096 + 31));
}

// Planes of 2 KiB, eight of them 16 KiB: four images a step, channel 2 on the second page of each.
TEST_F(ProgramsTest, SmallPlanesOfSeveralImagesAreAStep) {
  operand(128 * kKiB, Mode::Read, Pattern::Channels, {.stride = 2 * kKiB, .count = 8});
  EXPECT_EQ(launch().ctas(), 8);
  EXPECT_EQ(program_->max_steps(), 2);
  EXPECT_THAT(pages(2, 0, 0), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(pages(2, 0, 1), ElementsAre(17, 21, 25, 29));
}

// With 32 KiB of its planes at once, four images of 8 KiB, a channel is one step: a kernel that keeps it in registers.
TEST_F(ProgramsTest, AChannelMayBeTakenAtOnce) {
  operand(128 * kKiB, Mode::Read, Pattern::Channels, {.width = 32 * kKiB, .stride = 8 * kKiB, .count = 4});
  EXPECT_EQ(launch().ctas(), 4);
  EXPECT_EQ(program_->max_steps(), 1);
  EXPECT_THAT(pages(1, 0, 0), ElementsAre(2, 3, 10, 11, 18, 19, 26, 27));
}

// 16 warps have four loads of 128 B each in flight, 2 KiB apart: each has two on either page. A plane of 512 B takes
// four.
TEST_F(ProgramsTest, EveryWarpOfAChannelLoadsFromEachOfItsPages) {
  operand(128 * kKiB, Mode::Read, Pattern::Channels, {.stride = 16 * kKiB, .count = 4});
  launch();
  EXPECT_THAT(warps(), ElementsAre(16, 16));
  operands_.clear();
  operand(64 * kKiB, Mode::Read, Pattern::Channels, {.stride = 512, .count = 32});
  launch();
  EXPECT_THAT(warps(), ElementsAre(4, 4, 4, 4));
}

// C has 2 x 3 tiles of 64 x 1024 floats, whose rows are 12 KiB: a tile has a page of each of 64 rows. Where two columns
// of tiles go together, CTAs 0 to 3 make those of both rows, CTAs 4 and 5 the third column.
TEST_F(ProgramsTest, TilesOfAProductGoInGroupsOfColumns) {
  const auto first_page = [&](std::int64_t cta) { return pages(cta, 0, program_->max_steps() - 1).at(0) - 2 * 4096; };
  operand(128 * 4, Mode::Read, Pattern::Tile, {.rows = 128, .columns = 1, .leading_dimension = 4});
  operand(3072 * 4, Mode::Read, Pattern::Tile, {.rows = 1, .columns = 3072, .leading_dimension = 12288});
  operand(128 * 12288, Mode::Write, Pattern::Tile,
          {.rows = 128, .columns = 3072, .leading_dimension = 12288, .count = 2, .cta_rows = 64, .cta_columns = 1024});
  EXPECT_EQ(launch().ctas(), 6);
  EXPECT_EQ(pages(0, 0, program_->max_steps() - 1).size(), 64u);
  EXPECT_EQ(first_page(0), 0);
  EXPECT_EQ(first_page(1), 1);
  EXPECT_EQ(first_page(2), 64 * 3) << "the second row of tiles";
  EXPECT_EQ(first_page(3), 64 * 3 + 1);
  EXPECT_EQ(first_page(4), 2);
  EXPECT_EQ(first_page(5), 64 * 3 + 2);
  options_[2].count = 1;  // down the columns
  launch();
  EXPECT_EQ(first_page(1), 64 * 3);
  options_[2].count = 0;  // row by row
  launch();
  EXPECT_EQ(first_page(2), 2);
}

// 16 input and 128 output channels, planes of 4 KiB: 128 floats are an eighth of a plane, so eight CTAs have one page
// of each channel, first those of 64 output channels for both images.
TEST_F(ProgramsTest, AConvolutionReadsItsPixelsEightChannelsAStep) {
  operand(2 * 16 * 4 * kKiB, Mode::Read, Pattern::Pixels, {.stride = 4 * kKiB, .count = 16});
  operand(2 * 128 * 4 * kKiB, Mode::Write, Pattern::Pixels, {.stride = 4 * kKiB, .count = 128});
  EXPECT_EQ(launch().ctas(), 8 * 2 * 2);
  EXPECT_EQ(program_->max_steps(), 2 + 1);
  EXPECT_THAT(pages(0, 0, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(pages(7, 0, 1), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_EQ(pages(8, 0, 0).front(), 16) << "the second image";
  EXPECT_EQ(pages(8, 0, 2).front(), 4096 + 128);
  EXPECT_EQ(pages(8, 0, 2).size(), 64);
  EXPECT_EQ(pages(16, 0, 2).front(), 4096 + 64) << "the other channels of the first image";
}

// A stride of two: 256 of 512 pixels in each direction, so 128 results lie among 512 inputs, 2 KiB.
TEST_F(ProgramsTest, AConvolutionWithAStrideReadsMore) {
  operand(8 * 16 * kKiB, Mode::Read, Pattern::Pixels, {.stride = 16 * kKiB, .count = 8});
  operand(64 * 4 * kKiB, Mode::Write, Pattern::Pixels, {.stride = 4 * kKiB, .count = 64});
  EXPECT_EQ(launch().ctas(), 8);
  EXPECT_EQ(pages(1, 0, 0).front(), 0);
  EXPECT_EQ(pages(2, 0, 0).front(), 1) << "2 x 2 KiB";
}

// 256 and 64 channels of two pages: CTAs for 2 x 1 tiles of channels and two images, a page of each channel a step,
// then the small result.
TEST_F(ProgramsTest, AWeightsGradientSumsOverPixels) {
  operand(2 * 256 * 8 * kKiB, Mode::Read, Pattern::Pixels, {.stride = 8 * kKiB, .count = 256});
  operand(2 * 64 * 8 * kKiB, Mode::Read, Pattern::Pixels, {.stride = 8 * kKiB, .count = 64});
  operand(4 * kKiB, Mode::Write, Pattern::Sequential);
  EXPECT_EQ(launch().ctas(), 2 * 1 * 2);
  EXPECT_EQ(program_->max_steps(), 2 + 1);
  EXPECT_EQ(pages(0, 0, 0).size(), 128 + 64);
  EXPECT_EQ(pages(1, 0, 0).front(), 128 * 2) << "the other half of the first operand's channels";
  EXPECT_EQ(pages(2, 0, 1).front(), 256 * 2 + 1) << "the second image, the second page";
}

}  // namespace
}  // namespace uvmsim
