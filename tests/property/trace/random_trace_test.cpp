#include "support/random_trace.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "support/trace_text.h"
#include "trace/checker.h"
#include "trace/info.h"

namespace uvmsim::trace {
namespace {

// The accesses of `trace` with their options in place: which index options have is no part of the meaning.
std::vector<std::pair<Access, PatternOptions>> resolved(const Trace& trace) {
  std::vector<std::pair<Access, PatternOptions>> all;
  for (Access a : trace.accesses) {
    const PatternOptions options =
        a.options < 0 ? PatternOptions{} : trace.options[static_cast<std::size_t>(a.options)];
    a.options = -1;
    all.emplace_back(a, options);
  }
  return all;
}

TEST(RandomTrace, HasEveryKindOfRecord) {
  std::set<std::size_t> kinds;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const Record& record : RandomTrace(seed).make(100).records) kinds.insert(record.index());
  EXPECT_EQ(kinds.size(), kRecordTags.size() - 1);  // segments stay: their tensors may live
}

TEST(RandomTrace, ComesBackFromAFile) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Trace trace = RandomTrace(seed).make(static_cast<int>(seed));
    ASSERT_THAT(check_trace(trace), testing::IsEmpty()) << "seed " << seed;
    const std::string text = text_of(trace);
    const Trace again = trace_of(text);
    ASSERT_EQ(again.header, trace.header) << "seed " << seed;
    ASSERT_EQ(again.strings, trace.strings) << "seed " << seed;
    ASSERT_EQ(again.records, trace.records) << "seed " << seed;
    ASSERT_EQ(resolved(again), resolved(trace)) << "seed " << seed;
    ASSERT_EQ(text_of(again), text) << "seed " << seed;
    ASSERT_EQ(to_json(describe_trace(again)), to_json(describe_trace(trace))) << "seed " << seed;
  }
}

TEST(RandomTrace, ComesBackFromACompressedFile) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Trace trace = RandomTrace(seed).make(100);
    const std::string packed = text_of(trace, {.zstd_level = static_cast<int>(seed % 19) + 1});
    ASSERT_EQ(text_of(trace_of(packed)), text_of(trace)) << "seed " << seed;
  }
}

// Cut anywhere, a file holds the records of its whole lines, or it is refused.
TEST(RandomTrace, ACutFileIsAFaultOrAPrefix) {
  const Trace whole = RandomTrace(7).make(60);
  const std::string text = text_of(whole);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const bool after_a_line = size > 0 && (text[size] == '\n' || text[size - 1] == '\n');
    const std::string cut = text.substr(0, size);
    ASSERT_EQ(errors_of(cut).empty(), after_a_line) << size << " bytes: " << errors_of(cut);
    if (!after_a_line) continue;
    const Trace prefix = trace_of(cut);
    ASSERT_TRUE(std::equal(prefix.records.begin(), prefix.records.end(), whole.records.begin())) << size << " bytes";
  }
}

TEST(RandomTrace, ACutCompressedFileIsAFault) {
  const std::string packed = text_of(RandomTrace(7).make(60), {3});
  for (std::size_t size = 0; size < packed.size(); ++size) ASSERT_NE(errors_of(packed.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace uvmsim::trace
