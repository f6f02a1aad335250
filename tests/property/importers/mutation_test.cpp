#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <random>

#include "support/imported.h"
#include "trace/checker.h"
#include "workload/iterations.h"

namespace uvmsim {
namespace {

// The fuzzer's files, by name: one or two of each format.
std::vector<std::string> corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(UVMSIM_SOURCE_DIR) + "/tests/fuzz/corpus/import"))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

// False when the bytes were refused; what was not is valid, with and without iterations marked.
bool import_is_taken(const std::string& bytes) {
  try {
    trace::Trace trace = import_files({ImportFile::of("f", bytes)});
    EXPECT_THAT(trace::check_trace(trace), testing::IsEmpty());
    if (!has_iterations(trace)) mark_iterations(trace);
    EXPECT_THAT(trace::check_trace(trace), testing::IsEmpty());
    return true;
  } catch (const UserError& error) {
    EXPECT_FALSE(error.errors().empty());
    return false;
  }
}

TEST(Import, ChangedBytesAreRefusedOrGiveAValidTrace) {
  std::mt19937_64 random(1);
  int taken = 0, refused = 0;
  for (const std::string& file : corpus()) {
    for (int i = 0; i < 200; ++i) {
      std::string bytes = file;
      for (std::uint64_t n = random() % 3 + 1; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
      ++(import_is_taken(bytes) ? taken : refused);
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

TEST(Import, CutFilesAreRefusedOrGiveAValidTrace) {
  for (const std::string& file : corpus())
    for (std::size_t i = 0; i < 100; ++i) import_is_taken(file.substr(0, file.size() * i / 100));
}

}  // namespace
}  // namespace uvmsim
