// Programs step over elements whose pages they have touched already; going through all elements of all threads, one by
// one, must touch the same pages.
#include <gtest/gtest.h>
#include <set>

#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using Pages = std::set<PageNumber>;

// Of one CTA, over its steps of loads or of stores.
Pages touched(const KernelProgram& program, std::int64_t cta, int agent, bool write) {
  Pages pages;
  std::vector<Touch> touches;
  for (std::int64_t s = 0; s < program.steps(cta, agent); ++s) {
    program.step(cta, agent, s, touches);
    for (const Touch& t : touches)
      for (std::uint32_t i = 0; t.write == write && i < t.pages; ++i) pages.insert(t.at(i));
  }
  return pages;
}

PageNumber page_at(const Operand& o, std::int64_t offset) {
  return page_of(o.address + static_cast<VirtualAddress>(offset));
}

// Thread t of T: elements of chunks t, t + T, ... Enough threads that none takes more than its chunk at a time.
TEST(Shapes, ChunksAreWalkedFromStartToEnd) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random{std::mt19937_64(seed)};
    Operand o = random_operand(random, random.chance(50) ? trace::Pattern::Sequential : trace::Pattern::Strided);
    o.mode = trace::Mode::Read;
    o.bytes = std::min<std::int64_t>(o.bytes, 300'000);
    o.options = 0;
    const bool dense = o.pattern == trace::Pattern::Sequential;
    trace::PatternOptions p{.chunk = random(1024, 30'000)};
    if (!dense) p.stride = random(1, 9000);
    const LaunchShape shape{random(1, 5), static_cast<int>(random(4, 100))};
    const std::int64_t stride = dense ? 4 : p.stride, places = (o.bytes + stride - 1) / stride;
    const std::int64_t chunk = std::max<std::int64_t>(1, p.chunk / stride);
    const auto program = make_kernel_program(shape, std::span(&o, 1), std::span(&p, 1));
    for (std::int64_t cta = 0; cta < program->ctas(); ++cta) {
      for (int agent = 0; agent < program->agents(); ++agent) {
        Pages expected;
        for (int lane = agent * 32; lane < std::min(agent * 32 + 32, shape.block); ++lane)
          for (std::int64_t c = cta * shape.block + lane; c * chunk < places; c += program->ctas() * shape.block)
            for (std::int64_t place = c * chunk; place < std::min((c + 1) * chunk, places); ++place)
              expected.insert(page_at(o, place * stride));
        EXPECT_EQ(touched(*program, cta, agent, false), expected) << "seed " << seed << " cta " << cta;
      }
    }
  }
}

// The elements of a CTA's threads with all their neighbours, and those that it stores.
TEST(Shapes, CtasOfAnyShapeTouchTheirTiles) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random{std::mt19937_64(seed)};
    trace::PatternOptions p{.rows = random(1, 60), .columns = random(1, 3000)};
    p.leading_dimension = p.columns * 4;
    p.block_x = static_cast<int>(random(1, 130)), p.block_y = static_cast<int>(random(1, 7));
    p.count = random(0, (std::min(p.block_x, p.block_y) - 1) / 2);
    const std::int64_t bytes = p.rows * p.leading_dimension;
    const Operand in{kManagedBase, bytes, trace::Mode::Read, trace::Pattern::Stencil, 1, 0};
    const Operand out{kManagedBase + 6 * kBlockBytes, bytes, trace::Mode::Write, trace::Pattern::Grid2d, 1, 0};
    const std::vector<Operand> operands = {in, out};
    const auto program = make_kernel_program({}, operands, std::span(&p, 1));
    const std::int64_t across = p.block_x - 2 * p.count, down = p.block_y - 2 * p.count;
    const std::int64_t tiles = (p.columns + across - 1) / across, reach = std::max<std::int64_t>(p.count, 1);
    ASSERT_EQ(program->ctas(), tiles * ((p.rows + down - 1) / down));
    for (std::int64_t cta = 0; cta < program->ctas(); cta += random(1, 5)) {
      Pages loads, stores, expected_loads, expected_stores;
      for (int agent = 0; agent < program->agents(); ++agent) {
        loads.merge(touched(*program, cta, agent, false));
        stores.merge(touched(*program, cta, agent, true));
      }
      const std::int64_t x = cta % tiles * across, y = cta / tiles * down;
      for (std::int64_t row = std::max<std::int64_t>(y - reach, 0); row < std::min(y + down + reach, p.rows); ++row) {
        for (std::int64_t column = std::max<std::int64_t>(x - reach, 0);
             column < std::min(x + across + reach, p.columns); ++column) {
          const std::int64_t offset = row * p.leading_dimension + column * 4;
          expected_loads.insert(page_at(in, offset));
          if (row >= y && row < y + down && column >= x && column < x + across)
            expected_stores.insert(page_at(out, offset));
        }
      }
      EXPECT_EQ(loads, expected_loads) << "seed " << seed << " cta " << cta;
      EXPECT_EQ(stores, expected_stores) << "seed " << seed << " cta " << cta;
    }
  }
}

// 128 floats of the images' planes, of every channel that is read and of 64 that are written; the last image that is
// read may be cut short.
TEST(Shapes, ConvolutionsTouchTheirPixelsOfEachPlane) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random{std::mt19937_64(seed)};
    const std::int64_t plane = random.chance(50) ? std::int64_t{256} << random(0, 6) : 4 * random(1, 5000);
    const std::int64_t images = random(1, 4), read = random(1, 40), written = random(1, 140), tile = 128 * 4;
    const std::vector<trace::PatternOptions> options = {{.stride = plane, .count = read},
                                                        {.stride = plane, .count = written}};
    const VirtualAddress start = kManagedBase + static_cast<VirtualAddress>(512 * random(0, 20));
    const Operand in{start, images * read * plane - random(0, plane - 1), trace::Mode::Read, trace::Pattern::Pixels, 1,
                     0};
    const Operand out{
        start + 64 * kBlockBytes, images * written * plane, trace::Mode::Write, trace::Pattern::Pixels, 1, 1};
    const std::vector<Operand> operands = {in, out};
    const auto program = make_kernel_program({}, operands, options);
    const std::int64_t tiles = (images * plane + tile - 1) / tile;
    ASSERT_EQ(program->ctas(), tiles * ((written + 63) / 64));
    for (std::int64_t cta = 0; cta < program->ctas(); cta += random(1, 1 + program->ctas() / 4)) {
      Pages loads, stores;
      const std::int64_t first = cta % tiles * tile, channel = cta / tiles * 64;
      for (std::int64_t byte = first; byte < std::min(first + tile, images * plane); byte += 4) {
        const std::int64_t image = byte / plane, pixel = byte % plane;
        for (std::int64_t c = 0; c < read; ++c)
          if (const std::int64_t at = (image * read + c) * plane + pixel; at < in.bytes) loads.insert(page_at(in, at));
        for (std::int64_t c = channel; c < std::min(channel + 64, written); ++c)
          stores.insert(page_at(out, (image * written + c) * plane + pixel));
      }
      EXPECT_EQ(touched(*program, cta, 0, false), loads) << "seed " << seed << " cta " << cta;
      EXPECT_EQ(touched(*program, cta, 0, true), stores) << "seed " << seed << " cta " << cta;
    }
  }
}

}  // namespace
}  // namespace uvmsim
