// What every importer must keep, on the fuzzer's files: at least one for each format.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>

#include "study/known_operands.h"
#include "support/imported.h"
#include "trace/checker.h"

namespace uvmsim {
namespace {

std::string corpus(const std::string& name) {
  std::ifstream in(std::string(UVMSIM_SOURCE_DIR) + "/tests/fuzz/corpus/import/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The corpus' runs; those of several files have the fuzzer's separator between them.
const std::vector<std::string> kRuns = {
    "chakra",       "chakra_json",      "g10",        "g10_settings", "g10_times",    "kineto",
    "kineto_marks", "kineto_operators", "nsight_0",   "nsight_1",     "nsight_marks", "rmm_2019",
    "rmm_today",    "snapshot_2",       "snapshot_4", "uvmcap",       "uvmcap_both",  "uvmcap_torch"};

std::vector<std::string> parts_of(const std::string& run) {
  const std::string separator = "\xff\xff\xff\xff", all = corpus(run);
  std::vector<std::string> parts;
  for (std::size_t first = 0;;) {
    const std::size_t end = all.find(separator, first);
    parts.push_back(all.substr(first, end - first));
    if (end == all.npos) return parts;
    first = end + separator.size();
  }
}

std::vector<ImportFile> files_of(const std::string& run, const std::string& before = "") {
  std::vector<ImportFile> files;
  for (const std::string& part : parts_of(run)) files.push_back(ImportFile::of(run, before + part));
  return files;
}

class ImporterContract : public testing::TestWithParam<std::string> {};

TEST_P(ImporterContract, OneFormatTakesTheFiles) {
  for (const ImportFile& file : files_of(GetParam())) {
    const std::string head = file.head();
    EXPECT_EQ(std::ranges::count_if(importers().entries(),
                                    [&](const auto& entry) { return !entry.second.make()->role(head).empty(); }),
              1);
  }
}

TEST_P(ImporterContract, TheTraceIsValidAndSaysWhatItKnows) {
  const trace::Trace trace = imported(files_of(GetParam()));
  EXPECT_THAT(trace::check_trace(trace), testing::IsEmpty());
  EXPECT_FALSE(trace.header.provenance.empty());
  EXPECT_FALSE(trace.header.durations.empty());
  const auto known = known_operands(trace, "");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->enough, known->known_s >= kEnoughOperands * known->kernel_s);
  // A kernel that touches nothing is never silent.
  if (known->known_kernels < known->kernels) {
    EXPECT_THAT(trace.header.unknowns, testing::Contains(testing::HasSubstr("touch")));
  }
}

TEST_P(ImporterContract, OneImportIsLikeTheNext) {
  EXPECT_EQ(trace::text_of(imported(files_of(GetParam()))), trace::text_of(imported(files_of(GetParam()))));
}

// Editors and exporters put one before UTF-8. Databases and pickles are no texts.
TEST_P(ImporterContract, AByteOrderMarkChangesNothing) {
  if (GetParam().starts_with("nsight") || GetParam().starts_with("snapshot") || GetParam() == "chakra") return;
  EXPECT_EQ(records_text(imported(files_of(GetParam(), "\xef\xbb\xbf"))), records_text(imported(files_of(GetParam()))));
}

TEST_P(ImporterContract, HalfAFileIsRefusedWithItsNameOrIsATrace) {
  for (std::size_t part = 1; part < 8; ++part) {
    std::vector<ImportFile> files;
    for (const std::string& bytes : parts_of(GetParam()))
      files.push_back(ImportFile::of("half", bytes.substr(0, bytes.size() * part / 8)));
    const std::string errors = import_errors(files);
    if (!errors.empty()) {
      EXPECT_THAT(errors, testing::HasSubstr("half"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, ImporterContract, testing::ValuesIn(kRuns), [](const auto& run) { return run.param; });

// 10 of the set-up's ns do not count. Of the iteration's 100 ns, 60 have operands: too little; at 90 it is enough.
TEST(KnownOperands, AreAShareOfTheKernelsTimeInIterations) {
  const auto trace_with = [](int known, int unknown) {
    return trace::trace_of(
        "[\"M\",{\"v\":1,\"operands_status\":\"heuristic\"}]\n[\"A\",1,4096,0]\n[\"S\",0,\"k\"]\n"
        "[\"K\",0,0,10,[]]\n[\"I\",0]\n[\"K\",0,0," +
        std::to_string(known) + ",[[1,1,0]]]\n[\"K\",0,0," + std::to_string(unknown) + ",[]]\n");
  };
  const auto little = known_operands(trace_with(60, 40), "");
  ASSERT_TRUE(little);
  EXPECT_EQ(little->kernels, 2);
  EXPECT_EQ(little->known_kernels, 1);
  EXPECT_NEAR(little->known_s, 60e-9, 1e-15);
  EXPECT_FALSE(little->enough);
  EXPECT_FALSE(little->remedy.empty());
  EXPECT_TRUE(known_operands(trace_with(90, 10), "")->enough);
  EXPECT_FALSE(known_operands(trace::trace_of(trace::kTestHeader), ""));  // a generator's says nothing
}

// A new importer adds a file to the corpus and to the list above.
TEST(ImporterContracts, EveryFormatHasAFile) {
  std::set<std::string> seen;
  for (const std::string& run : kRuns)
    for (const auto& [name, entry] : importers().entries())
      if (!entry.make()->role(parts_of(run).front()).empty()) seen.insert(name);
  EXPECT_THAT(importers().names(), testing::ElementsAreArray(std::vector(seen.begin(), seen.end())));
}

}  // namespace
}  // namespace uvmsim
