#include "observe/timeline.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

constexpr Time us(std::int64_t t) { return nanoseconds(1000 * t); }

const TimelineRow& row(const Timeline& timeline, const std::string& name) {
  for (const TimelineRow& r : timeline.rows())
    if (r.name == name) return r;
  ADD_FAILURE() << "no row " << name;
  return timeline.rows().front();
}

// 1000 copies of 4 KiB, 1 us each with 1 us between them, then one of 500 us.
void record_copies(Timeline& timeline) {
  for (int i = 0; i < 1000; ++i)
    timeline.copy({.to_device = true, .begin = us(2 * i), .end = us(2 * i + 1), .bytes = Bytes{4096}, .batch = i + 1});
  timeline.copy({.to_device = true, .begin = us(2000), .end = us(2500), .bytes = Bytes{1 << 21}, .batch = 1001});
}

TEST(Timeline, KeepsEachSliceWhileThereAreFew) {
  Timeline timeline({});
  record_copies(timeline);
  EXPECT_EQ(row(timeline, "copy engine, host to device").slices.size(), 1001U);
  EXPECT_EQ(timeline.grain(), Duration{0});
}

// 1000 x 4096 + 2097152 = 6193152 bytes, 1000 + 500 us busy; the long copy is no neighbour of less than a grain.
TEST(Timeline, MergesShortNeighboursAndKeepsSums) {
  Timeline timeline({.most_slices = 100});
  record_copies(timeline);
  const std::vector<TimelineSlice>& slices = row(timeline, "copy engine, host to device").slices;
  EXPECT_LE(slices.size(), 100U);
  std::int64_t bytes = 0, count = 0;
  Duration busy{};
  for (std::size_t i = 0; i < slices.size(); ++i) {
    bytes += slices[i].bytes;
    count += slices[i].count;
    busy += slices[i].busy;
    EXPECT_TRUE(i == 0 || slices[i].begin >= slices[i - 1].end);
    EXPECT_TRUE(slices[i].count == 1 || slices[i].end - slices[i].begin <= timeline.grain());
  }
  EXPECT_EQ(bytes, 6193152);
  EXPECT_EQ(count, 1001);
  EXPECT_EQ(busy, us(1500));
  EXPECT_EQ(slices.back().count, 1);
  EXPECT_EQ(slices.back().batch, 1001);
}

// Copies 51 to 60 overlap [100 us, 119 us]: those that begin at 100, 102, ..., 118 us.
TEST(Timeline, ShowsAWindow) {
  Timeline timeline({.begin = us(100), .end = us(119)});
  record_copies(timeline);
  EXPECT_EQ(row(timeline, "copy engine, host to device").slices.size(), 10U);
}

TEST(Timeline, LevelsLeaveOutWhatIsFiner) {
  const auto rows_at = [](TimelineLevel level) {
    Timeline timeline({.level = level});
    timeline.stream_opened({.stream = 0, .gpu = GpuIndex{0}, .process = 0, .name = "stream"});
    timeline.kernel({.begin = us(0), .end = us(9), .name = "kernel", .time = {}});
    const PageNumber pages[] = {PageNumber{1}, PageNumber{2}};
    timeline.fault_batch(
        {.batch = 1, .begin = us(1), .serviced = us(2), .copied = us(4), .replayed = us(5), .pages = pages});
    timeline.copy({.to_device = true, .begin = us(2), .end = us(4), .bytes = Bytes{8192}, .batch = 1});
    std::size_t slices = 0;
    for (const TimelineRow& r : timeline.rows()) slices += r.slices.size();
    return slices;
  };
  EXPECT_EQ(rows_at(TimelineLevel::Kernels), 1U);
  EXPECT_EQ(rows_at(TimelineLevel::Batches), 4U);  // and service, copies, replay
  EXPECT_EQ(rows_at(TimelineLevel::Copies), 5U);
}

}  // namespace
}  // namespace uvmsim
