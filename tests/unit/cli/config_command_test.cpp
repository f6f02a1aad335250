// `uvmsim config check`: configurations, and machines by themselves.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sstream>
#include <unistd.h>

#include "cli/program.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class ConfigCheck : public testing::Test {
 protected:
  ~ConfigCheck() override { fs::remove(file_); }

  ExitCode check(const std::string& text) {
    std::ofstream(file_) << text;
    std::ostringstream out, err;
    const ExitCode exit = run_program({"config", "check", file_}, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string file_ = testing::TempDir() + "config_check_" + std::to_string(getpid()) + ".json";
  std::string out_, err_;
};

TEST_F(ConfigCheck, TakesAMachineByItself) {
  EXPECT_EQ(check(R"({"extends": "rtx3080.json", "name": "mine"})"), ExitCode::Done) << err_;
  EXPECT_THAT(out_, HasSubstr("a machine that can be simulated: mine, 1 x GeForce RTX 3080"));
  EXPECT_THAT(out_, Not(HasSubstr("odd")));
}

// 24 GB is 22.35 GiB. The link carries 24.8 GB/s to the GPU; copies at 30 GB/s are more. 70 GB/s is more than the
// 63.0 GB/s of PCIe 5.0 x16.
TEST_F(ConfigCheck, SaysWhatIsOdd) {
  EXPECT_EQ(check(R"({"extends": "rtx3080.json", "gpu": {"memory": "24 GB", "copy": {"h2d_bandwidth": "30 GB/s"}}})"),
            ExitCode::Done)
      << err_;
  EXPECT_THAT(
      out_,
      HasSubstr("suspicious: gpu.memory: 24 GB is 22.35 GiB; cards are sold by the GiB: did you mean \"24 GiB\"?"));
  EXPECT_THAT(out_,
              HasSubstr("suspicious: gpu.copy.h2d_bandwidth: 30 GB/s is more than the link pcie0 carries, 24.8 GB/s"));
  EXPECT_THAT(out_, HasSubstr("2 of the machine's values state no status"));
  EXPECT_EQ(check(R"({"extends": "rtx5080.json", "links": [
    {"extends": "links/ddr5_6400_x2.json", "name": "memory0", "from": "memory0", "to": "socket0"},
    {"kind": "pcie", "name": "fast", "from": "socket0", "to": "gpu0", "down": "70 GB/s", "up": "50 GB/s"}]})"),
            ExitCode::Done)
      << err_;
  EXPECT_THAT(out_, HasSubstr("suspicious: link fast: 70 GB/s is more than 16 lanes of PCIe 5.0 carry"));
}

TEST_F(ConfigCheck, TakesAConfigurationAndRefusesWhatIsNone) {
  EXPECT_EQ(check(R"({"machine": {"extends": "machines/t4.json"}, "workload": {"generator": "resnet50"}})"),
            ExitCode::Done)
      << err_;
  EXPECT_THAT(out_, HasSubstr("a configuration that can be simulated: T4"));
  EXPECT_EQ(check(R"({"extends": "rtx3080.json", "gpu": {"memroy": "24 GB"}})"), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("did you mean \"memory\"?"));
}

}  // namespace
}  // namespace uvmsim
