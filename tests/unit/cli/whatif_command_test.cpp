#include <algorithm>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

// AlexNet that fits.
class WhatIfCommand : public testing::Test {
 protected:
  ExitCode ask(std::vector<std::string> options) {
    options.insert(options.begin(), {"whatif", "v100_dgx1", "--quiet", "--set", "machine.gpus=1"});
    for (const char* setting : {"workload.generator=alexnet", "workload.batch=32",
                                "workload.calibrate.in_core=", "run.warmup=1", "run.iterations=1"})
      options.insert(options.end(), {"--set", setting});
    std::ostringstream out, err;
    const ExitCode exit = run_program(options, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string out_, err_;
};

TEST_F(WhatIfCommand, AsksEveryTransformTheFastestFirstAndComposesTheBest) {
  ASSERT_EQ(ask({"--json", "--top", "2"}), ExitCode::Done) << err_ << out_;
  const nlohmann::json json = nlohmann::json::parse(out_);
  const double base = json["base"]["duration_s"];
  double last = 0;
  for (const auto& one : json["what_ifs"]) {
    if (!one["applies"]) {
      EXPECT_NE(one["why_not"], "") << one["name"];
      continue;
    }
    EXPECT_GE(one["duration_s"], last) << one["name"];
    last = one["duration_s"];
    EXPECT_NEAR(one["speedup"].get<double>(), base / last, 1e-12);
  }
  ASSERT_EQ(json["composed"]["transforms"].size(), 2u);
  EXPECT_LT(json["composed"]["duration_s"], json["what_ifs"][0]["duration_s"]);
}

TEST_F(WhatIfCommand, SaysWhyATransformDoesNotApply) {
  ASSERT_EQ(ask({}), ExitCode::Done) << err_;
  EXPECT_THAT(out_, HasSubstr("Not applicable"));
  EXPECT_THAT(out_, HasSubstr("no kernel normalizes batches"));  // AlexNet has none
}

// AlexNet's convolutions in a thousandth of their time, its other kernels as they are.
TEST_F(WhatIfCommand, AsksATransformWithParameters) {
  ASSERT_EQ(ask({"--json", "--with", "scale_kernels:kernel=conv,factor=0.001"}), ExitCode::Done) << err_;
  const nlohmann::json json = nlohmann::json::parse(out_);
  const auto found = std::ranges::find_if(
      json["what_ifs"], [](const auto& one) { return one["name"] == "scale_kernels:kernel=conv,factor=0.001"; });
  ASSERT_NE(found, json["what_ifs"].end());
  EXPECT_GT((*found)["speedup"], 1.0);
}

TEST_F(WhatIfCommand, RefusesEveryFaultOfItsTransforms) {
  EXPECT_EQ(ask({"--with", "amb", "--with", "prune:fraction=7,layr=x"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("no transform is named \"amb\"; did you mean \"amp\"?"));
  EXPECT_THAT(err_, HasSubstr("fraction"));
  EXPECT_THAT(err_, HasSubstr("layer"));
}

TEST_F(WhatIfCommand, RefusesATransformThatSelectsNothingUnlessItIsOptional) {
  const std::string transform = R"("name": "batch_norm_reconstruction")";
  EXPECT_EQ(ask({"--set", "workload.transforms=[{" + transform + "}]"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("batch_norm_reconstruction selects nothing"));
  EXPECT_EQ(ask({"--set", "workload.transforms=[{" + transform + R"(, "optional": true}])"}), ExitCode::Done) << err_;
}

}  // namespace
}  // namespace uvmsim
