#include "trace/pattern.h"

#include <gtest/gtest.h>

namespace uvmsim::trace {
namespace {

// A GEMM writes each element of its tile once, a broadcast all of a vector; strides, lists, chases and random places
// leave bytes between them.
TEST(Pattern, CoversItsRangeUnlessItTouchesPlacesInIt) {
  for (const Pattern whole : {Pattern::Sequential, Pattern::Tile, Pattern::Broadcast, Pattern::Wide, Pattern::Rows,
                              Pattern::Stencil, Pattern::Grid2d})
    EXPECT_TRUE(covers_its_range(whole)) << static_cast<int>(whole);
  for (const Pattern places : {Pattern::Random, Pattern::Strided, Pattern::Order, Pattern::Chase})
    EXPECT_FALSE(covers_its_range(places)) << static_cast<int>(places);
}

// Of a tensor of 100 B: [0, end), [0, 100) and more than it has are all of it; [1, end) and [0, 99) are not.
TEST(Pattern, CoversATensorFromItsFirstByteToItsLast) {
  const auto covers = [](std::int64_t offset, std::int64_t length) {
    return covers_its_range(Access{.offset = offset, .length = length}, 100);
  };
  EXPECT_TRUE(covers(0, -1));
  EXPECT_TRUE(covers(0, 100));
  EXPECT_TRUE(covers(0, 101));
  EXPECT_FALSE(covers(1, -1));
  EXPECT_FALSE(covers(0, 99));
  EXPECT_FALSE(covers_its_range(Access{.pattern = Pattern::Random}, 100));
}

}  // namespace
}  // namespace uvmsim::trace
