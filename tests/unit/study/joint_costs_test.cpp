// The description of the joint fit: its faults, and that the bundled one fits the bundled machines.
#include "study/calibration/joint_costs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace uvmsim {
namespace {

const std::string kSource = UVMSIM_SOURCE_DIR;

std::string faults_of(const std::string& text) {
  const std::string path = ::testing::TempDir() + "joint_costs_test.json";
  std::ofstream(path) << text;
  try {
    read_joint_costs(path);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(JointCosts, SaysEveryFaultWithItsPlace) {
  const std::string faults = faults_of(R"({
    "prior": {"common": 0, "kind": 1, "slowness": 1, "own": 1, "model_error": 0.1, "extra": 1},
    "steps": {"batch": {"common": "25 parsecs", "fitted": true}, "interrupt": {"common": "10 us"}},
    "hosts": {"mine": {"machines": [], "slowness": 1, "source": "a desktop"}}})");
  for (const char* place : {"/prior/common", "/prior/degrees_of_freedom", "/prior/extra", "/steps/batch/common",
                            "/steps/interrupt/source", "/hosts/mine/kind"})
    EXPECT_NE(faults.find(place), std::string::npos) << place << " in\n" << faults;
}

// A step that fills a file of costs is one that machines have; and each host has its file.
TEST(JointCosts, TheBundledHostsHaveTheirFiles) {
  const JointCostsDescription joint = read_joint_costs(kSource + "/validation/joint_costs.json");
  for (const JointCostsDescription::Host& host : joint.hosts) {
    EXPECT_TRUE(std::filesystem::exists(kSource + "/configs/machines/costs/" + host.name + ".json")) << host.name;
    EXPECT_EQ(std::filesystem::exists(kSource + "/validation/left_out/" + host.name + ".json"), !host.machines.empty())
        << host.name;
  }
}

// 28.34 us has three figures: 28.3.
TEST(JointCosts, SettingsHaveThreeFigures) {
  JointCostsDescription of;
  of.steps = {{"batch", {}, true, ""}};
  EXPECT_EQ(cost_settings(of, {28.34e-6}), std::vector<std::string>{"machine.gpu.driver_costs.batch=28.3 us"});
}

// A host that is fitted apart has one as well, and no other fit writes it.
TEST(JointCosts, TheHostFittedApartHasAFileOfItsOwn) {
  const JointCostsDescription joint = read_joint_costs(kSource + "/validation/joint_costs.json");
  const JointCostsDescription apart = read_joint_costs(kSource + "/validation/joint_costs_power9.json");
  ASSERT_EQ(apart.hosts.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(kSource + "/configs/machines/costs/" + apart.hosts[0].name + ".json"));
  EXPECT_TRUE(std::ranges::none_of(joint.hosts, [&](const auto& host) { return host.name == apart.hosts[0].name; }));
}

// Without their own cases the machines of the GTX 1080 Ti's host cost something else, and nothing else changes.
TEST(JointCosts, LeftOutFamiliesAreOfHostsWithCases) {
  const JointCostsDescription joint = read_joint_costs(kSource + "/validation/joint_costs.json");
  const CaseSources sources{
      .files = {kSource + "/validation/cases/uvmsmart_apps.json", kSource + "/validation/cases/blog_p100.json"},
      .configs_folder = kSource + "/configs",
      .settings = {}};
  const std::vector<Measurement> measurements =
      read_measurements(kSource + "/validation/measurements.json", read_text_file);
  const std::vector<CaseFamily> families =
      left_out_families(joint, kSource + "/validation/left_out", sources, measurements);
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].name, "uvmsmart_apps");
  const std::vector<CaseFamily> own = read_families(sources, measurements);
  EXPECT_EQ(families[0].cases.size(), own[1].cases.size());
  EXPECT_NE(families[0].cases[0].runs[0].experiment.machine.gpus[GpuIndex{0}].driver_costs.batch,
            own[1].cases[0].runs[0].experiment.machine.gpus[GpuIndex{0}].driver_costs.batch);
}

}  // namespace
}  // namespace uvmsim
