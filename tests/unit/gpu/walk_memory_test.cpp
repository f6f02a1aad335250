// What is kept of kernels, and for how long.
#include "gpu/walk_memory.h"

#include <gtest/gtest.h>
#include <limits>

namespace uvmsim {
namespace {

using Entry = KnownWalks::Entry;

// Whatever differs from the entry before, from nothing to everything.
TEST(KnownWalks, EntriesAreReadAsTheyWereWritten) {
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  const std::vector<Entry> entries = {{Duration{0}, 0, 0, 0, false},
                                      {Duration{14'000}, 1, 0, 0, false},
                                      {Duration{28'000}, 2, 0, 0, true},
                                      {Duration{42'000}, 2, 1, 30, true},
                                      {Duration{42'000}, kMost, 254, 31, false},
                                      {Duration{1'000'000'000'000}, 0, 0, 65535, false},
                                      {Duration{1'000'000'000'001}, 300, 0, 5, false}};
  KnownWalks walks;
  KnownWalks::Place end;
  for (const Entry& entry : entries) walks.write(KnownWalks::kRoot, end, entry);
  KnownWalks::Place place;
  for (const Entry& entry : entries) {
    ASSERT_NE(walks.look(KnownWalks::kRoot, place), nullptr);
    EXPECT_EQ(*walks.look(KnownWalks::kRoot, place), entry);
    KnownWalks::pass(place);
  }
  EXPECT_EQ(walks.look(KnownWalks::kRoot, place), nullptr);
}

// A burst: entries one interval apart, of neighbouring pages. Flags and page, and a time for the second one.
TEST(KnownWalks, TakeTwoBytesForAnEntryLikeTheOneBefore) {
  KnownWalks walks;
  const std::size_t before = walks.bytes();
  KnownWalks::Place end;
  for (std::uint32_t i = 0; i < 1000; ++i)
    walks.write(KnownWalks::kRoot, end, {Duration{14'000 * i}, i, 0, static_cast<std::uint16_t>(i % 6), false});
  EXPECT_LE(walks.bytes() - before, 2 * 1000 + 3);
}

TEST(KnownWalks, ActionsLeadToTheStretchesThatTheyBegan) {
  KnownWalks walks;
  const std::uint32_t a = walks.add(KnownWalks::kRoot, 1), b = walks.add(KnownWalks::kRoot, 2), c = walks.add(a, 2);
  EXPECT_EQ(walks.after(KnownWalks::kRoot, 1), a);
  EXPECT_EQ(walks.after(KnownWalks::kRoot, 2), b);
  EXPECT_EQ(walks.after(a, 2), c);
  EXPECT_EQ(walks.after(a, 1), std::nullopt);
  EXPECT_EQ(walks.after(b, 2), std::nullopt);
}

WalkStart start(std::uint64_t program) { return {0, program, 0, Duration{0}, Duration{0}}; }

// Three kernels of 400 bytes where 1000 are kept: the first one was used again, so the second one goes.
TEST(WalkMemory, ForgetsWhatWasNotUsedForLongest) {
  WalkMemory memory(1000);
  const auto fill = [&](std::uint64_t program) {
    const auto walks = memory.find(start(program));
    KnownWalks::Place end;
    for (std::uint32_t i = 0; walks->bytes() < 400; ++i)
      walks->write(KnownWalks::kRoot, end, {Duration{i}, i, 0, 0, false});
    memory.settle(start(program));
    return walks;
  };
  const auto first = fill(1), second = fill(2);
  EXPECT_EQ(memory.find(start(1)), first);
  fill(3);
  EXPECT_EQ(memory.find(start(1)), first);
  EXPECT_NE(memory.find(start(2)), second);
}

// Sums over the words of two ranges, of which the first one begins within a word: any page that comes or goes changes
// it, and it does not matter where the ranges are.
TEST(GrantedSum, TellsPagesApartWhereverTheyAre) {
  const auto sum = [](std::uint32_t moved, std::initializer_list<std::uint32_t> granted, bool writable = true) {
    PageTable pages;
    for (const std::uint32_t page : granted) {
      PageMask mask;
      mask.set(page_in_frame(PageNumber{page + moved}));
      pages.map(frame_of(PageNumber{page + moved}), mask, writable, false);
    }
    const std::vector<PageRange> ranges = {{PageNumber{70 + moved}, PageNumber{700 + moved}},
                                           {PageNumber{800 + moved}, PageNumber{801 + moved}}};
    return granted_sum(pages, ranges);
  };
  EXPECT_EQ(sum(0, {}), 0);
  EXPECT_EQ(sum(0, {69, 700, 799, 801}), 0);
  EXPECT_EQ(sum(0, {70, 511, 512, 699, 800}), sum(4321, {70, 511, 512, 699, 800}));
  EXPECT_NE(sum(0, {70}), sum(0, {71}));
  EXPECT_NE(sum(0, {70}), sum(0, {800}));
  EXPECT_NE(sum(0, {70}), sum(0, {70}, false));
}

// The part of the sum that has to do with a frame changes as the sum does.
TEST(GrantedSum, ChangesByThePartOfAFrame) {
  const std::vector<PageRange> ranges = {{PageNumber{100}, PageNumber{1500}}, {PageNumber{1490}, PageNumber{1600}}};
  PageTable pages;
  pages.map(FrameIndex{0}, PageMask::all(), true, false);
  pages.map(FrameIndex{2}, PageMask::of({0, 480}), false, false);
  const std::uint64_t whole = granted_sum(pages, ranges), part = granted_sum(pages, ranges, FrameIndex{2});
  pages.unmap(FrameIndex{2}, PageMask::of({440, 470}));
  EXPECT_EQ(granted_sum(pages, ranges) - whole, granted_sum(pages, ranges, FrameIndex{2}) - part);
  EXPECT_NE(granted_sum(pages, ranges), whole);
}

}  // namespace
}  // namespace uvmsim
