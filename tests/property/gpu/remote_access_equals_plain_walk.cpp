// Requests on the link are counted by arithmetic on shapes; going through all accesses one by one must find as many.
#include <gtest/gtest.h>
#include <set>

#include "gpu/kernel_program.h"
#include "gpu/remote_access.h"
#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// Of bytes that one access touches, a byte at a time.
class PlainAccess {
 public:
  void touch(VirtualAddress address, std::int64_t bytes) {
    for (std::int64_t i = 0; i < bytes; ++i) {
      lines_.insert((address + static_cast<VirtualAddress>(i)) / kLineBytes);
      sectors_.insert((address + static_cast<VirtualAddress>(i)) / kSectorBytes);
    }
  }
  LinkRequests requests() const {
    return {static_cast<std::int64_t>(lines_.size()), static_cast<std::int64_t>(sectors_.size()) * kSectorBytes};
  }

 private:
  std::set<VirtualAddress> lines_, sectors_;
};

LinkRequests plain(VirtualAddress address, std::int64_t bytes) {
  PlainAccess access;
  access.touch(address, bytes);
  return access.requests();
}

VirtualAddress somewhere(Random& random) { return kManagedBase + static_cast<VirtualAddress>(random(0, 4096)); }

TEST(LinkRequests, EqualThoseOfEachAccess) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random{std::mt19937_64(seed)};
    const VirtualAddress address = somewhere(random);
    const std::int64_t bytes = random(1, 400), stride = random(1, 500), count = random(0, 300);
    LinkRequests expected;
    for (std::int64_t i = 0; i < count; ++i)
      expected += plain(address + static_cast<VirtualAddress>(i * stride), bytes);
    EXPECT_EQ(requests_of(address, bytes, stride, count), expected) << "seed " << seed;
  }
}

TEST(LinkRequests, EqualThoseOfEachPiece) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random{std::mt19937_64(seed)};
    const VirtualAddress address = somewhere(random);
    const std::int64_t bytes = random(1, 1000), piece = random(1, 300), pitch = random(0, 1500), lines = random(1, 40);
    LinkRequests expected;
    for (std::int64_t line = 0; line < lines; ++line)
      for (std::int64_t at = 0; at < bytes; at += piece)
        expected += plain(address + static_cast<VirtualAddress>(line * pitch + at), std::min(piece, bytes - at));
    EXPECT_EQ(piece_requests_of(address, bytes, piece, pitch, lines), expected) << "seed " << seed;
  }
}

TEST(LinkRequests, EqualThoseOfEachWarp) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random{std::mt19937_64(seed)};
    const VirtualAddress address = somewhere(random);
    const std::int64_t width = random(1, 200), stride = random(1, 300), places = random(0, 300);
    LinkRequests expected;
    for (std::int64_t warp = 0; warp < places; warp += 32) {
      PlainAccess access;
      for (std::int64_t place = warp; place < std::min(warp + 32, places); ++place)
        access.touch(address + static_cast<VirtualAddress>(place * stride), width);
      expected += access.requests();
    }
    EXPECT_EQ(gather_requests_of(address, width, stride, places), expected) << "seed " << seed;
  }
}

// A thread's accesses one after the other, 32 threads at a time.
TEST(LinkRequests, EqualThoseOfEachWarpOfChunks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random{std::mt19937_64(seed)};
    const VirtualAddress address = somewhere(random);
    const std::int64_t width = random(1, 100), stride = random(1, 200), places = random(1, 600), chunk = random(1, 40);
    LinkRequests expected;
    for (std::int64_t warp = 0; warp * chunk < places; warp += 32) {
      for (std::int64_t i = 0; i < chunk; ++i) {
        PlainAccess access;
        for (std::int64_t thread = warp; thread < warp + 32; ++thread)
          if (thread * chunk + i < places)
            access.touch(address + static_cast<VirtualAddress>((thread * chunk + i) * stride), width);
        expected += access.requests();
      }
    }
    EXPECT_EQ(chunk_requests_of(address, width, stride, places, chunk), expected) << "seed " << seed;
  }
}

// All pages are remote: rows of tiles, cut off at the grid's edges.
TEST(RemoteAccess, OfGridsEqualsThatOfEachTile) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random{std::mt19937_64(seed)};
    trace::PatternOptions grid{.rows = random(1, 100), .columns = random(1, 100), .element_bytes = random(1, 16)};
    grid.leading_dimension = grid.columns * grid.element_bytes + random(0, 200);
    grid.block_x = static_cast<int>(random(1, 40)), grid.block_y = static_cast<int>(random(1, 25));
    grid.count = random(0, (std::min(grid.block_x, grid.block_y) - 1) / 2);
    const bool stencil = random.chance(50);
    const Operand operand{kManagedBase + static_cast<VirtualAddress>(random(0, 300)),
                          grid.rows * grid.leading_dimension,
                          stencil ? trace::Mode::Read : trace::Mode::Write,
                          stencil ? trace::Pattern::Stencil : trace::Pattern::Grid2d,
                          1,
                          0};
    const std::int64_t across = grid.block_x - 2 * grid.count, down = grid.block_y - 2 * grid.count;
    const std::int64_t reach = stencil ? std::max<std::int64_t>(grid.count, 1) : 0;
    LinkRequests expected;
    for (std::int64_t y = 0; y < grid.rows; y += down)
      for (std::int64_t x = 0; x < grid.columns; x += across)
        for (std::int64_t row = std::max<std::int64_t>(y - reach, 0); row < std::min(y + down + reach, grid.rows);
             ++row) {
          const std::int64_t left = std::max<std::int64_t>(x - reach, 0);
          const std::int64_t right = std::min(x + across + reach, grid.columns);
          const std::int64_t first = row * grid.leading_dimension + left * grid.element_bytes;
          expected += plain(operand.address + static_cast<VirtualAddress>(first), (right - left) * grid.element_bytes);
        }
    PageTable pages;
    pages.map(FrameIndex{0}, PageMask::all(), true, true);
    const std::vector<trace::PatternOptions> options = {grid};
    const RemoteAccess access = make_kernel_program({}, std::span(&operand, 1), options)->remote_access(pages, 80);
    EXPECT_EQ(stencil ? access.read : access.written, expected) << "seed " << seed;
  }
}

// A program that counts nothing itself: what it touches, a line per warp.
TEST(RemoteAccess, OfASweepEqualsThatOfItsTouches) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random{std::mt19937_64(seed)};
    const std::int64_t pages = random(1, 600);
    const Operand operand{kManagedBase, pages * kPageBytes, static_cast<trace::Mode>(random(1, 3))};
    PageTable table;
    for (std::uint32_t f = 0; f < 2; ++f) table.map(FrameIndex{f}, random_mask(random), true, random.chance(70));
    const auto program = make_kernel_program({0, 1024}, std::span(&operand, 1), {});  // 4 KiB per CTA
    const RemoteAccess access = program->remote_access(table, 80);
    const RemoteAccess walked = program->KernelProgram::remote_access(table, 80);
    EXPECT_EQ(access.read, walked.read) << "seed " << seed;
    EXPECT_EQ(access.written, walked.written) << "seed " << seed;
    EXPECT_EQ(access.loads, walked.loads) << "seed " << seed;
  }
}

}  // namespace
}  // namespace uvmsim
