// Case files of others: in any folder, with machines of their own, units as people write them, several runs.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include "study/validation/case_family.h"
#include "study/validation/unit.h"

namespace uvmsim {
namespace {

const std::string kConfigs = UVMSIM_SOURCE_DIR "/configs";

class CaseFiles : public testing::Test {
 protected:
  CaseFiles() { std::filesystem::create_directories(folder_ + "/deep/er"); }
  ~CaseFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Reads a family of one case with these measured values.
  std::vector<CaseFamily> read(const std::string& measured,
                               const std::string& machine = "machines/v100_pcie_16gb.json") {
    const std::string file = path("deep/er/mine.json");
    std::ofstream(file) << R"({"family": "mine", "title": "t", "tolerance": {"relative": 0.1, "reason": "r"},
      "role": "validation", "config": {"machine": {"extends": ")" +
                               machine + R"("},
      "workload": {"generator": "vector_add"}}, "cases": [{"name": "c", "measured": [)" +
                               measured + "]}]}";
    return read_families({{file}, kConfigs, {}}, {});
  }
  std::string error_of(const std::string& measured) {
    try {
      read(measured);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::string folder_ = testing::TempDir() + "/case_files_" + std::to_string(getpid());
};

std::string value(const std::string& number, const std::string& unit = "ms", const std::string& more = "") {
  return R"({"metric": "duration_s", "value": )" + number + R"(, "unit": ")" + unit + R"(", "trust": "raw", )" + more +
         R"("source": "our log"})";
}

TEST_F(CaseFiles, ExtendBundledMachinesFromAnyFolder) { EXPECT_EQ(read(value("2")).size(), 1u); }

// A copy of a bundled machine names gpus/, hosts/ and links/ beside it: those of configs/machines.
TEST_F(CaseFiles, MayHaveACopyOfABundledMachineBesideThem) {
  std::filesystem::copy(kConfigs + "/machines/v100_pcie_16gb.json", path("deep/er/my_machine.json"));
  const std::vector<CaseFamily> families = read(value("2"), "my_machine.json");
  EXPECT_EQ(families[0].cases[0].runs[0].experiment.machine.gpus.size(), 1u);
}

// Nothing is simulated for a case that asks only what fits; and the two questions are two runs.
TEST_F(CaseFiles, MayAskWhatFitsInsteadOfTimes) {
  const auto run_of = [&](const std::string& metric) {
    CaseFamily family = std::move(read(R"({"metric": ")" + metric + R"(", "value": 2, "unit": "x", "trust": "raw",
                                          "source": "our log"})")[0]);
    return std::move(family.cases[0].runs[0]);
  };
  const CaseRun largest = run_of(R"(largest[\"elements\"] / largest_unplanned[\"elements\"])");
  EXPECT_FALSE(largest.simulated);
  EXPECT_FALSE(largest.need);
  EXPECT_EQ(largest.largest, std::set<std::string>{"elements"});
  const CaseRun need = run_of("need_bytes / unplanned_bytes");
  EXPECT_TRUE(need.need);
  EXPECT_FALSE(need.simulated);
  const CaseRun both = run_of("need_bytes / duration_s");
  EXPECT_TRUE(both.need && both.simulated);
  EXPECT_NE(need.identity, both.identity);
  EXPECT_THAT(error_of(R"({"metric": "largest", "value": 2, "unit": "x", "trust": "raw", "source": "l"})"),
              testing::HasSubstr(R"(expected a parameter of the generator, such as largest["batch"])"));
}

// Median of 2.0, 2.1, 2.4; half of the range is 0.2 of 2.1.
TEST_F(CaseFiles, SeveralRunsCountByTheirMedian) {
  const MeasuredValue m = read(value("[2.4, 2.0, 2.1]"))[0].cases[0].measured[0];
  EXPECT_DOUBLE_EQ(m.value, 2.1);
  EXPECT_NEAR(m.uncertainty.value(), 0.2 / 2.1, 1e-12);
}

TEST_F(CaseFiles, AStatedUncertaintyWins) {
  const MeasuredValue m = read(value("[2.4, 2.0, 2.1]", "ms", R"("uncertainty": 0.05, )"))[0].cases[0].measured[0];
  EXPECT_DOUBLE_EQ(m.uncertainty.value(), 0.05);
}

TEST_F(CaseFiles, OneMetricMayBeMeasuredTwice) {
  const std::vector<MeasuredValue> measured = read(value("2.0") + "," + value("2.1"))[0].cases[0].measured;
  EXPECT_EQ(measured[0].name, "duration_s");
  EXPECT_EQ(measured[1].name, "duration_s #2");
}

TEST_F(CaseFiles, NoNumberIsAnError) {
  EXPECT_THAT(error_of(value("[]")), testing::HasSubstr("expected a number, or a list of what several runs measured"));
  EXPECT_THAT(error_of(value(R"([1, "a"])")), testing::HasSubstr("expected a number, or a list"));
}

// All that is no object of runs, behind the measured values; the case is read to its end.
TEST_F(CaseFiles, RunsAreAnObjectOfOneAtLeast) {
  const std::string expected = "/cases/0/runs";
  EXPECT_THAT(error_of(value("2") + R"(], "runs": [8)"), testing::HasSubstr(expected));
  for (const std::string runs : {"8", "\"x\"", "null", "[]", "true", "{}"}) {
    const std::string error = error_of(value("2") + R"(], "runs": )" + runs + R"(, "no_key": [)");
    EXPECT_THAT(error, testing::HasSubstr(expected)) << runs;
    EXPECT_THAT(error, testing::HasSubstr("expected an object of one run at least")) << runs;
    EXPECT_THAT(error, testing::HasSubstr("/cases/0/no_key")) << runs;
  }
}

TEST_F(CaseFiles, AnUnknownUnitSaysWhatWasMeant) {
  EXPECT_THAT(error_of(value("2", "bytes")), testing::HasSubstr(R"(unknown unit "bytes"; did you mean "B"?)"));
}

// A published 18 %, of which 10 to 25 % counts as the same.
TEST_F(CaseFiles, AClaimHasARange) {
  const std::string claim = R"({"metric": "duration_s", "kind": "range", "value": 0.18, "unit": "s", "trust": "table",
      "source": "s", "why": "w", "range": )";
  const std::vector<CaseFamily> families = read(claim + "[0.10, 0.25]}");
  const MeasuredValue& m = families[0].cases[0].measured[0];
  EXPECT_EQ(m.criterion, Criterion::Range);
  EXPECT_DOUBLE_EQ(m.least, 0.10);
  EXPECT_DOUBLE_EQ(m.most, 0.25);
  EXPECT_EQ(m.why, "w");
  EXPECT_THAT(error_of(claim + "[0.25, 0.10]}"), testing::HasSubstr("expected the least and the most value"));
  EXPECT_THAT(error_of(claim + "0.1}"), testing::HasSubstr("/cases/0/measured/0/range"));
}

TEST(Units, ThatPeopleWriteAreKnownByOtherNames) {
  EXPECT_EQ(unit_meant_by("bytes"), "B");
  EXPECT_EQ(unit_meant_by("Gigabytes/second"), "GB/s");
  EXPECT_EQ(unit_meant_by("milliseconds"), "ms");
  EXPECT_EQ(unit_meant_by("\u00b5s"), "us");
  EXPECT_EQ(unit_meant_by("percent"), "%");
  EXPECT_EQ(unit_meant_by("mib"), "MiB");
  EXPECT_EQ(unit_meant_by("furlongs"), "");
}

}  // namespace
}  // namespace uvmsim
