#include "cli/timeline_file.h"

#include <array>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <zlib.h>

#include "base/user_error.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

std::string refusal(const TimelineArguments& arguments) {
  try {
    timeline_options(arguments);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(TimelineOptions, EitherEndOfTheWindowMayBeLeftOut) {
  const TimelineOptions both = timeline_options({.path = "", .window = "1.5 s:2 s", .level = "batches"});
  EXPECT_EQ(both.begin, from_seconds(1.5));
  EXPECT_EQ(both.end, from_seconds(2));
  EXPECT_EQ(both.level, TimelineLevel::Batches);
  EXPECT_EQ(timeline_options({.path = "", .window = "1 ms:"}).end, kNever);
  EXPECT_EQ(timeline_options({.path = "", .window = ":1 ms"}).begin, Time{});
}

TEST(TimelineOptions, RefusesWindowsThatAreNone) {
  for (const char* window : {"1 s", "2 s:1 s", "1:2", "1 s:1 s", "a:b"})
    EXPECT_THAT(refusal({.path = "", .window = window}), HasSubstr("BEGIN before END")) << window;
}

TEST(TimelineFile, RefusesOtherNames) {
  EXPECT_THROW(TimelineFile("timeline.txt"), UserError);
  EXPECT_FALSE(std::filesystem::exists("timeline.txt"));
}

std::string unzipped(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::array<char, 4096> piece;
  for (int n = 0; (n = gzread(file, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(n));
  gzclose(file);
  return text;
}

// The same content, compressed: 5000 slices are several pieces of the stream.
TEST(TimelineFile, GzipHoldsTheJson) {
  Timeline timeline({});
  for (int i = 0; i < 5000; ++i)
    timeline.copy({.to_device = true, .begin = nanoseconds(2 * i), .end = nanoseconds(2 * i + 1), .bytes = Bytes{i}});
  const std::string folder = testing::TempDir() + "timeline_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  TimelineFile(folder + "/t.json").keep(timeline);
  TimelineFile(folder + "/t.json.gz").keep(timeline);
  const std::string json = test::read_file(folder + "/t.json").value();
  EXPECT_EQ(unzipped(folder + "/t.json.gz"), json);
  EXPECT_GT(nlohmann::json::parse(json)["traceEvents"].size(), 5000U);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace uvmsim
