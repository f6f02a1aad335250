// Indices of one kind do not mix with those of another, nor with integers; vectors take the index of what they hold.
#include <concepts>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/indexed_vector.h"
#include "base/units.h"

namespace uvmsim {
namespace {

static_assert(!std::convertible_to<int, PageNumber> && !std::convertible_to<std::uint32_t, PageNumber>);
static_assert(!std::convertible_to<PageNumber, std::uint32_t> && !std::is_constructible_v<bool, PageNumber>);
static_assert(!std::convertible_to<PageNumber, FrameIndex> && !std::is_constructible_v<FrameIndex, PageNumber>);
static_assert(!std::equality_comparable_with<PageNumber, FrameIndex>);
static_assert(!std::equality_comparable_with<PageNumber, std::uint32_t>);
static_assert(!std::convertible_to<GpuIndex, DeviceOrdinal> && !std::is_constructible_v<DeviceOrdinal, GpuIndex>);
static_assert(!std::convertible_to<int, GpuIndex> && !std::convertible_to<int, DeviceOrdinal>);
static_assert(std::is_trivially_copyable_v<PageNumber> && sizeof(PageNumber) == sizeof(std::uint32_t));

template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};
static_assert(Adds<PageNumber, std::uint32_t> && !Adds<PageNumber, PageNumber> && !Adds<PageNumber, FrameIndex>);

using Names = IndexedVector<FrameIndex, std::string>;
template <class I>
concept IndexesNames = requires(Names names, I i) {
  names[i];
};
static_assert(IndexesNames<FrameIndex> && !IndexesNames<PageNumber> && !IndexesNames<std::size_t>);

TEST(Index, MovesByCountsAndMeasuresDistances) {
  PageNumber page{7};
  EXPECT_EQ(page + 3, PageNumber{10});
  EXPECT_EQ(page - 3, PageNumber{4});
  EXPECT_EQ(PageNumber{10} - page, 3u);
  EXPECT_EQ(page++, PageNumber{7});
  EXPECT_EQ(++page, PageNumber{9});
  EXPECT_LT(page, PageNumber{10});
  EXPECT_EQ(PageNumber{}, PageNumber{0});
}

// Page 1030 is the seventh of frame 2, 4 MiB and 24 KiB from the start.
TEST(Index, PagesFramesAndAddressesNameEachOther) {
  constexpr PageNumber page{1030};
  EXPECT_EQ(frame_of(page), FrameIndex{2});
  EXPECT_EQ(page_in_frame(page), 6u);
  EXPECT_EQ(first_page_of(frame_of(page)) + page_in_frame(page), page);
  EXPECT_EQ(address_of(page), kManagedBase + (4 << 20) + (24 << 10));
  EXPECT_EQ(page_of(address_of(page)), page);
  EXPECT_EQ(page_of(address_of(page) - 1), page - 1);
}

TEST(Index, ProcessorsAreTheHostAndGpus) {
  EXPECT_TRUE(ProcessorId::cpu().is_cpu());
  EXPECT_FALSE(ProcessorId::gpu(GpuIndex{0}).is_cpu());
  EXPECT_EQ(ProcessorId::gpu(GpuIndex{3}).gpu_index(), GpuIndex{3});
}

TEST(IndexedVector, IsReadAndWrittenByItsIndex) {
  Names names{"a", "b"};
  names[FrameIndex{1}] = "c";
  EXPECT_EQ(names.at(FrameIndex{1}), "c");
  EXPECT_THROW(names.at(FrameIndex{2}), std::out_of_range);
  EXPECT_TRUE(names.contains(FrameIndex{1}));
  EXPECT_FALSE(names.contains(FrameIndex{2}));
  names.push_back("d");
  names.emplace_back(2u, 'e');
  EXPECT_EQ(names, (Names{"a", "c", "d", "ee"}));
  names.resize(5, "f");
  EXPECT_EQ(names.back(), "f");
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(names.outer(), FrameIndex{5});
}

TEST(IndexedVector, GivesItsElementsAndTheirIndicesInOrder) {
  const Names names{"a", "b", "c"};
  std::string joined;
  for (const std::string& name : names) joined += name;
  EXPECT_EQ(joined, "abc");
  std::vector<FrameIndex> indices;
  for (const FrameIndex i : names.indices()) indices.push_back(i);
  EXPECT_EQ(indices, (std::vector{FrameIndex{0}, FrameIndex{1}, FrameIndex{2}}));
  EXPECT_TRUE(Names{}.indices().empty());
}

}  // namespace
}  // namespace uvmsim
